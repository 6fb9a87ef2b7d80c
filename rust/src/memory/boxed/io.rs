//! The input and output of the standard library through a box.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use std::fmt::Arguments;
use std::io::{BufRead, IoSlice, IoSliceMut, Read, Result, Seek, SeekFrom, Write};
use std::string::String;
use std::vec::Vec;

use super::Box;

impl<T: ?Sized + Read> Read for Box<'_, T> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        (**self).read(buf)
    }
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> Result<usize> {
        (**self).read_vectored(bufs)
    }
    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> Result<usize> {
        (**self).read_to_end(buf)
    }
    fn read_to_string(&mut self, buf: &mut String) -> Result<usize> {
        (**self).read_to_string(buf)
    }
    fn read_exact(&mut self, buf: &mut [u8]) -> Result<()> {
        (**self).read_exact(buf)
    }
}

impl<T: ?Sized + BufRead> BufRead for Box<'_, T> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        (**self).fill_buf()
    }
    fn consume(&mut self, amount: usize) {
        (**self).consume(amount)
    }
    fn read_until(&mut self, byte: u8, buf: &mut Vec<u8>) -> Result<usize> {
        (**self).read_until(byte, buf)
    }
    fn read_line(&mut self, buf: &mut String) -> Result<usize> {
        (**self).read_line(buf)
    }
}

impl<T: ?Sized + Write> Write for Box<'_, T> {
    fn write(&mut self, buf: &[u8]) -> Result<usize> {
        (**self).write(buf)
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> Result<usize> {
        (**self).write_vectored(bufs)
    }
    fn flush(&mut self) -> Result<()> {
        (**self).flush()
    }
    fn write_all(&mut self, buf: &[u8]) -> Result<()> {
        (**self).write_all(buf)
    }
    fn write_fmt(&mut self, text: Arguments<'_>) -> Result<()> {
        (**self).write_fmt(text)
    }
}

impl<T: ?Sized + Seek> Seek for Box<'_, T> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        (**self).seek(to)
    }
    fn stream_position(&mut self) -> Result<u64> {
        (**self).stream_position()
    }
}
