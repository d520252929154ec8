import Glibc

/// The memory behind a bitmap, on a 64-byte boundary.
///
/// Unchecked, and sound: the pointer and the length never change, and the bytes are written only through
/// `Bitmap.withUnsafeMutableRows`, which first makes sure that it holds the one reference.
final class PixelMemory: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let length: Int

    /// Nil when there is no memory.
    init?(length: Int, zeroed: Bool) {
        var pointer: UnsafeMutableRawPointer?
        guard posix_memalign(&pointer, 64, max(length, 64)) == 0, let pointer else { return nil }
        if zeroed { memset(pointer, 0, length) }
        base = pointer
        self.length = length
    }

    deinit {
        free(base)
    }
}
