import Glibc

/// The memory behind a bitmap, on a 64-byte boundary, counted on the allowance in force.
///
/// Unchecked, and sound: the pointers and the length never change, and the bytes are written only through
/// `Bitmap.withUnsafeMutableRows`, which first makes sure that it holds the one reference.
final class PixelMemory: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let length: Int
    private let start: UnsafeMutableRawPointer
    private let budget: MemoryBudget?

    /// - Throws: `memoryLimit`, `outOfMemory`.
    init(length: Int, zeroed: Bool) throws(ImagingError) {
        let budget = Allowance.current?.memory
        try budget?.take(length)
        // Zeros from calloc cost nothing until they are touched, but come on a 16-byte boundary.
        guard length < Int.max - 64, let start = zeroed ? calloc(1, length + 64) : malloc(length + 64) else {
            budget?.give(length)
            throw .outOfMemory(bytes: length)
        }
        self.start = start
        base = UnsafeMutableRawPointer(bitPattern: (UInt(bitPattern: start) + 63) & ~63) ?? start
        self.length = length
        self.budget = budget
    }

    deinit {
        free(start)
        budget?.give(length)
    }
}
