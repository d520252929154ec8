/// A size in whole pixels.
public struct PixelSize: Sendable, Equatable {
    /// From left to right.
    public var width: Int
    /// From top to bottom.
    public var height: Int

    /// Of any width and height; nothing is checked.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The size with its sides exchanged.
    public var turned: PixelSize { PixelSize(width: height, height: width) }
}
