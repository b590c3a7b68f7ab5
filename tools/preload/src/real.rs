//! libc's own functions.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The function of this name behind this library. `None` in a libc that has none.
pub(crate) fn find(cache: &AtomicPtr<c_void>, name: &CStr) -> Option<*mut c_void> {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return Some(known);
    }
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    cache.store(found, Ordering::Relaxed);
    (!found.is_null()).then_some(found)
}

/// What a function says that failed.
pub(crate) trait Failure {
    const FAILED: Self;
}

impl Failure for i32 {
    const FAILED: Self = -1;
}

impl Failure for isize {
    const FAILED: Self = -1;
}

impl<T> Failure for *mut T {
    const FAILED: Self = std::ptr::null_mut();
}

/// Declares a function that calls libc's of the same name.
macro_rules! real {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        /// libc's, for which this library's caller asked: what it must be given is for the caller to know.
        #[allow(clippy::too_many_arguments, reason = "those of libc")]
        pub(crate) unsafe fn $name($($argument: $kind),*) -> $result {
            static CACHE: std::sync::atomic::AtomicPtr<std::ffi::c_void> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
            const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name without zeros"),
            };
            let Some(function) = $crate::real::find(&CACHE, NAME) else {
                $crate::system::set_errno(libc::ENOSYS);
                return <$result as $crate::real::Failure>::FAILED;
            };
            // SAFETY: libc's function of this name has these arguments and this result.
            let function: unsafe extern "C-unwind" fn($($kind),*) -> $result = unsafe { std::mem::transmute(function) };
            // SAFETY: as the caller says.
            unsafe { function($($argument),*) }
        }
    )*};
}
pub(crate) use real;
