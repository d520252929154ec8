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
