# A host in Julia, as host.c: host.jl PLUGIN. LOAD_PATH must have the folder julia.
# SPDX-License-Identifier: MIT OR Apache-2.0
using Libdl
using Toft

struct Row
    next::Ptr{Row}
    name::Cstring
    value::Cstring
    id::Int64
end

total(row) = row == C_NULL ? 0 : (r = unsafe_load(row); r.id + ncodeunits(unsafe_string(r.value)) + total(r.next))

query = dlsym(dlopen(ARGS[1], RTLD_NOW | RTLD_LOCAL), :query)
arena() do a # its end is that of the rows
    println("sum ", total(ccall(query, Ptr{Row}, (Ptr{Cvoid}, Int64), a, 1000)))
end
