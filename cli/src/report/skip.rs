//! Functions that only pass an allocation on: the name of a site is that of the first call which is not one of them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::snapshot::Moment;
use crate::advice::Advice;
use crate::frame::Frame;
use regex_lite::Regex;

/// Of C by the end of the name; of C++, Rust and Toft by the namespace.
const WRAPPERS: &str = r"(?i)^(operator (new|delete)|<?(toft|std|core|alloc|__gnu_cxx|__rustc)::|toft_|_ZN?K?(St|4toft|9__gnu_cxx)|__rust_|g_slice_|(x|g_|jv_mem_|Perl_safesys|c)?free$|\w*(malloc|calloc|zalloc|realloc|reallocarray|mallocarray|memalign|aligned_alloc|mem_alloc|mem_calloc|mem_realloc|strn?dup|memdup)(0|2|_n|_n0|_array|_zero|_internal|_aligned)?$)";

pub struct Skip {
    built_in: Regex,
    own: Option<Regex>,
}

impl Skip {
    pub fn new(own: Option<Regex>) -> Skip {
        Skip { built_in: Regex::new(WRAPPERS).expect("it is tested"), own }
    }

    /// Whether a function is a wrapper, by its demangled name.
    pub fn is_wrapper(&self, name: &str) -> bool {
        self.built_in.is_match(base(name)) || self.own.as_ref().is_some_and(|own| own.is_match(name))
    }

    /// Removes the wrappers that a stack begins with. A stack of wrappers alone stays as it is, and so does one in which
    /// a call without a name follows them.
    fn trim(&self, stack: &mut Vec<Frame>) {
        let is_wrapper = |call: &Frame| call.function.as_ref().is_some_and(|name| self.is_wrapper(name));
        let first = stack.iter().position(|call| !is_wrapper(call));
        if let Some(first) = first.filter(|first| stack[*first].function.is_some()) {
            stack.drain(..first);
        }
    }

    pub fn moments(&self, moments: &mut [Moment]) {
        for site in moments.iter_mut().flat_map(|of| &mut of.views).flat_map(|view| &mut view.report.sites) {
            self.trim(&mut site.stack);
        }
    }

    pub fn advice(&self, advice: &mut Advice) {
        let scopes = &mut advice.scopes;
        let of_scopes = scopes.iter_mut().flat_map(|scope| {
            scope
                .sites
                .iter_mut()
                .chain(&mut scope.resets)
                .map(|site| &mut site.stack)
                .chain(scope.escapes.iter_mut().flat_map(|escape| [&mut escape.allocated, &mut escape.freed]))
        });
        let sites =
            [&mut advice.sites, &mut advice.at_peak, &mut advice.growing, &mut advice.temporary].into_iter().flatten();
        for stack in sites.map(|site| &mut site.stack).chain(of_scopes) {
            self.trim(stack);
        }
    }
}

/// The name without its arguments, and without the type of its result, which the names of templates have.
fn base(name: &str) -> &str {
    let (mut depth, mut begin) = (0u32, 0);
    for (at, c) in name.char_indices() {
        match c {
            '(' if depth == 0 && at > 0 && !name[..at].ends_with("operator") => return &name[begin..at],
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && !name[begin..at].starts_with("operator") => begin = at + 1,
            _ => {}
        }
    }
    &name[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_known() {
        let skip = Skip::new(Some(Regex::new("^my_").unwrap()));
        // No demangler reads the name that begins with _ZNSt.
        let wrappers = "operator new(unsigned long);operator new[](unsigned long);malloc;xmalloc;xcalloc;xrealloc;xstrdup;\
            jv_mem_alloc;Perl_safesysmalloc;g_malloc0;g_malloc_n;CRYPTO_zalloc;sqlite3Malloc;git__reallocarray;PyMem_RawMalloc;\
            free;xfree;__rust_alloc;toft_alloc;toft::v0_1::arena::allocate(unsigned long);my_own;\
            void* std::allocator<int>::allocate(unsigned long);alloc::raw_vec::RawVec<T,A>::grow_one;\
            std::vector<int, std::allocator<int> >::push_back(int const&);\
            <alloc::vec::Vec<T> as core::clone::Clone>::clone;\
            _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEv";
        let others =
            "main;parse_document;std::vector<int> game::load(std::string const&);game::allocate_all(unsigned long);\
            reallocate_nodes;find_malloc_user;tofty;list_free;game::operator()(int);";
        for (names, are_wrappers) in [(wrappers, true), (others, false)] {
            for name in names.split(';') {
                assert_eq!(skip.is_wrapper(name), are_wrappers, "{name}");
            }
        }
    }

    #[test]
    fn only_the_first_calls_are_removed() {
        let trimmed = |stack: &[Option<&'static str>]| {
            let frame = |name: &Option<&'static str>| Frame { function: name.map(str::to_owned), ..Frame::default() };
            let mut frames = stack.iter().map(frame).collect();
            Skip::new(None).trim(&mut frames);
            stack[stack.len() - frames.len()..].to_vec()
        };
        let some = Some;
        assert_eq!(trimmed(&[some("malloc"), some("xmalloc"), some("f"), some("malloc")]), [some("f"), some("malloc")]);
        assert_eq!(trimmed(&[some("malloc"), some("xmalloc")]), [some("malloc"), some("xmalloc")]);
        assert_eq!(trimmed(&[some("malloc"), None, some("f")]), [some("malloc"), None, some("f")]);
        assert_eq!(trimmed(&[]), [] as [Option<&str>; 0]);
    }
}
