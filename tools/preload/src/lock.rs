//! A lock that survives fork.

use std::cell::UnsafeCell;

/// Like a mutex, but all of this library's locks are free in the child of a fork, whoever held them (`environment` sees to that).
pub(crate) struct Lock<T> {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached with the mutex held only.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), value: UnsafeCell::new(value) }
    }

    /// Does something with the value, which must not come back to this lock.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        self.acquire();
        // SAFETY: the mutex is held.
        let result = work(unsafe { &mut *self.value.get() });
        // SAFETY: it was acquired above.
        unsafe { self.release() };
        result
    }

    /// Waits for the lock, and keeps it beyond the end of the call.
    pub(crate) fn acquire(&self) {
        // SAFETY: the mutex lives as long as the program, and is never moved.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
    }

    /// Gives it back.
    ///
    /// # Safety
    /// This thread, or the one that it is a fork of, must have acquired it.
    pub(crate) unsafe fn release(&self) {
        // SAFETY: as the caller says.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
    }
}
