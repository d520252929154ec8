/// A bitmap's rows to read, valid inside the call that gave them.
public struct BitmapRows {
    public let base: UnsafeRawPointer
    public let width: Int
    public let height: Int
    public let bytesPerRow: Int
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
    public let base: UnsafeMutableRawPointer
    public let width: Int
    public let height: Int
    public let bytesPerRow: Int
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
