/// Mirrors an image; 16 bits stay 16.
public struct FlippingImageProcessor: ImageProcessor, Equatable {
    /// The direction of a mirroring.
    public enum Direction: String, Sendable, CaseIterable {
        /// Left and right change places.
        case horizontal = "h"
        /// Top and bottom change places.
        case vertical = "v"
    }

    /// The direction.
    public let direction: Direction

    /// Makes a processor that mirrors in this direction.
    public init(direction: Direction) {
        self.direction = direction
    }

    public var identifier: String { "flip:\(direction.rawValue)" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let orientation = Orientation(direction == .horizontal ? 2 : 4)
        return try item.image(options.decode) { (bitmap) throws(ImagingError) in try bitmap.oriented(orientation) }
    }
}
