/* The one function of bcryptprimitives.dll that Go calls: Wine before version 9 has no such library. Built into Wine's
 * system32 by make check-go-windows.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <windows.h>
/* after windows.h */
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T size);
BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T size) { return RtlGenRandom(to, (ULONG)size); }
