import Glibc

/// One picture in memory: rows of pixels from top to bottom, each row beginning on a 64-byte boundary, or on an 8-byte
/// boundary where a row has fewer than 64 bytes.
///
/// Copies share their memory until one of them is written to.
public struct Bitmap: Sendable {
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    /// How the pixels lie in memory.
    public let format: PixelFormat
    /// The distance between rows, a multiple of 64, or of 8 where it is less.
    public let bytesPerRow: Int
    private var memory: PixelMemory

    /// A bitmap of zeros: black, and transparent where the format has alpha.
    ///
    /// - Throws: `memoryLimit` while an image is worked on, and `outOfMemory`, also for sides that are not positive or do not fit the address space.
    public init(width: Int, height: Int, format: PixelFormat) throws(ImagingError) {
        try self.init(width: width, height: height, format: format, zeroed: true)
    }

    /// A bitmap whose every pixel the caller is about to write.
    init(uninitialized width: Int, _ height: Int, _ format: PixelFormat) throws(ImagingError) {
        try self.init(width: width, height: height, format: format, zeroed: false)
    }

    private init(width: Int, height: Int, format: PixelFormat, zeroed: Bool) throws(ImagingError) {
        guard width > 0, height > 0 else { throw .outOfMemory(bytes: 0) }
        let (used, wide) = width.multipliedReportingOverflow(by: format.bytesPerPixel)
        // A picture of one column would take 64 times its size.
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

    /// Bitmaps that share their memory have equal ones.
    var identity: ObjectIdentifier { ObjectIdentifier(memory) }

    /// The bytes that its memory takes.
    public var byteCount: Int { bytesPerRow * height }

    /// Gives the rows to read; the pointers are valid inside the call.
    public func withUnsafeRows<Result, Failure: Error>(
        _ body: (BitmapRows) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let rows = BitmapRows(
            base: memory.base, width: width, height: height, bytesPerRow: bytesPerRow, format: format)
        defer { withExtendedLifetime(memory) {} }
        return try body(rows)
    }

    /// - Throws: `memoryLimit` or `outOfMemory` when the memory is shared and there is none for a copy, and what the body throws.
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
    /// The same pixels in the same format.
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
    /// One line, such as `Bitmap(1024×683, rgb, 8 bits)`.
    public var description: String {
        "Bitmap(\(width)×\(height), \(format.channels), \(format.depth.rawValue) bits)"
    }
}

/// A bitmap's rows to read, valid inside the call that gave them.
public struct BitmapRows {
    /// The first byte of the first row.
    public let base: UnsafeRawPointer
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    /// From one row to the next.
    public let bytesPerRow: Int
    /// How the pixels lie in a row.
    public let format: PixelFormat

    /// A row's samples of 8 bits.
    @inline(__always)
    public func row(_ index: Int) -> UnsafePointer<UInt8> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt8.self)
    }

    /// A row's samples of 16 bits.
    @inline(__always)
    public func row16(_ index: Int) -> UnsafePointer<UInt16> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt16.self)
    }
}

/// A bitmap's rows to write, valid inside the call that gave them.
public struct MutableBitmapRows {
    /// The first byte of the first row.
    public let base: UnsafeMutableRawPointer
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    /// From one row to the next.
    public let bytesPerRow: Int
    /// How the pixels lie in a row.
    public let format: PixelFormat

    /// A row's samples of 8 bits.
    @inline(__always)
    public func row(_ index: Int) -> UnsafeMutablePointer<UInt8> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt8.self)
    }

    /// A row's samples of 16 bits.
    @inline(__always)
    public func row16(_ index: Int) -> UnsafeMutablePointer<UInt16> {
        (base + index * bytesPerRow).assumingMemoryBound(to: UInt16.self)
    }
}
