import Glibc

/// One picture in memory: rows of pixels from top to bottom.
///
/// Each row begins on a 64-byte boundary, or on an 8-byte boundary when a row has fewer than 64 bytes. Copies share
/// their memory until one of them is written to.
public struct Bitmap: Sendable {
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The layout of a pixel.
    public let format: PixelFormat
    /// The distance between rows in bytes: a multiple of 64, or of 8 when it is below 64.
    public let bytesPerRow: Int
    private var memory: PixelMemory

    /// Makes a bitmap of zeros: black, and transparent when the format has alpha.
    ///
    /// - Throws: `memoryLimit` while an image is in work, and `outOfMemory`, also for sides that are not positive or do
    ///   not fit the address space.
    public init(width: Int, height: Int, format: PixelFormat) throws(ImagingError) {
        try self.init(width: width, height: height, format: format, zeroed: true)
    }

    /// Makes a bitmap whose pixels the caller is about to write.
    init(uninitialized width: Int, _ height: Int, _ format: PixelFormat) throws(ImagingError) {
        try self.init(width: width, height: height, format: format, zeroed: false)
    }

    private init(width: Int, height: Int, format: PixelFormat, zeroed: Bool) throws(ImagingError) {
        guard width > 0, height > 0 else { throw .outOfMemory(bytes: 0) }
        let (used, wide) = width.multipliedReportingOverflow(by: format.bytesPerPixel)
        // With a unit of 64, a picture of one column would take 64 times its size.
        let unit = used < 64 ? 8 : 64
        let (padded, edge) = used.addingReportingOverflow(unit - 1)
        let bytesPerRow = padded & ~(unit - 1)
        let (length, tall) = bytesPerRow.multipliedReportingOverflow(by: height)
        if wide || edge || tall { throw .outOfMemory(bytes: Int.max) }
        self.width = width
        self.height = height
        self.format = format
        self.bytesPerRow = bytesPerRow
        memory = try PixelMemory(length: length, zeroed: zeroed)
    }

    var size: PixelSize { PixelSize(width: width, height: height) }

    /// The identity of the memory; equal for bitmaps that share it.
    var identity: ObjectIdentifier { ObjectIdentifier(memory) }

    /// The size of the memory in bytes.
    public var byteCount: Int { bytesPerRow * height }

    /// Calls `body` with the rows for reading; the pointers are valid during the call.
    public func withUnsafeRows<Result, Failure: Error>(
        _ body: (BitmapRows) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let rows = BitmapRows(
            base: memory.base, width: width, height: height, bytesPerRow: bytesPerRow, format: format)
        defer { withExtendedLifetime(memory) {} }
        return try body(rows)
    }

    /// Calls `body` with the rows for writing; the pointers are valid during the call.
    ///
    /// - Throws: `memoryLimit` or `outOfMemory` when the memory is shared and cannot be copied, and what `body` throws.
    public mutating func withUnsafeMutableRows<Result>(
        _ body: (MutableBitmapRows) throws(ImagingError) -> Result
    ) throws(ImagingError) -> Result {
        if !isKnownUniquelyReferenced(&memory) {
            let copy = try PixelMemory(length: memory.length, zeroed: false)
            memcpy(copy.base, memory.base, memory.length)
            memory = copy
        }
        let rows = MutableBitmapRows(
            base: memory.base, width: width, height: height, bytesPerRow: bytesPerRow, format: format)
        defer { withExtendedLifetime(memory) {} }
        return try body(rows)
    }
}

extension Bitmap: Equatable {
    /// Whether both have the same pixels in the same format.
    public static func == (left: Bitmap, right: Bitmap) -> Bool {
        guard left.width == right.width, left.height == right.height, left.format == right.format else { return false }
        let used = left.width * left.format.bytesPerPixel
        return left.withUnsafeRows { first in
            right.withUnsafeRows { second in
                (0..<first.height).allSatisfy { memcmp(first.row($0), second.row($0), used) == 0 }
            }
        }
    }
}

extension Bitmap: CustomStringConvertible {
    /// One line such as `Bitmap(1024×683, rgb, 8 bits)`.
    public var description: String {
        "Bitmap(\(width)×\(height), \(format.channels), \(format.depth.rawValue) bits)"
    }
}

/// The rows of a bitmap for reading, valid during the call that passes them.
public struct BitmapRows {
    /// The address of the first row.
    public let base: UnsafeRawPointer
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The distance between rows in bytes.
    public let bytesPerRow: Int
    /// The layout of a pixel.
    public let format: PixelFormat

    /// Returns the samples of a row of 8 bits a sample.
    @inline(__always)
    public func row(_ index: Int) -> UnsafePointer<UInt8> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt8.self)
    }

    /// Returns the samples of a row of 16 bits a sample.
    @inline(__always)
    public func row16(_ index: Int) -> UnsafePointer<UInt16> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt16.self)
    }
}

/// The rows of a bitmap for writing, valid during the call that passes them.
public struct MutableBitmapRows {
    /// The address of the first row.
    public let base: UnsafeMutableRawPointer
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The distance between rows in bytes.
    public let bytesPerRow: Int
    /// The layout of a pixel.
    public let format: PixelFormat

    /// Returns the samples of a row of 8 bits a sample.
    @inline(__always)
    public func row(_ index: Int) -> UnsafeMutablePointer<UInt8> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt8.self)
    }

    /// Returns the samples of a row of 16 bits a sample.
    @inline(__always)
    public func row16(_ index: Int) -> UnsafeMutablePointer<UInt16> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt16.self)
    }
}
