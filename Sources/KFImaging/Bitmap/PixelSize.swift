/// A size in whole pixels.
public struct PixelSize: Sendable, Equatable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The size with its sides exchanged.
    public var turned: PixelSize { PixelSize(width: height, height: width) }
}
