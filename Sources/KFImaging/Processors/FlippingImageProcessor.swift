/// Mirrors an image; 16 bits stay 16.
public struct FlippingImageProcessor: ImageProcessor, Equatable {
    /// Which sides change places.
    public enum Direction: String, Sendable, CaseIterable {
        /// Left becomes right.
        case horizontal = "h"
        /// Top becomes bottom.
        case vertical = "v"
    }

    /// Which sides change places.
    public let direction: Direction

    /// Mirrors in this direction.
    public init(direction: Direction) {
        self.direction = direction
    }

    public var identifier: String { "flip:\(direction.rawValue)" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let orientation = Orientation(direction == .horizontal ? 2 : 4)
        return try item.image(options.decode) { (bitmap) throws(ImagingError) in try bitmap.oriented(orientation) }
    }
}
