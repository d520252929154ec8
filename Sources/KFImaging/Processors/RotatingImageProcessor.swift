/// Rotates an image clockwise by a multiple of 90°; 16 bits stay 16.
public struct RotatingImageProcessor: ImageProcessor, Equatable {
    /// An angle in degrees clockwise.
    public enum Angle: String, Sendable, CaseIterable {
        /// 90°.
        case quarter = "90"
        /// 180°.
        case half = "180"
        /// 270°.
        case threeQuarters = "270"
    }

    /// The angle, clockwise.
    public let angle: Angle

    /// Makes a processor that rotates by this angle.
    public init(angle: Angle) {
        self.angle = angle
    }

    public var identifier: String { "rotate:\(angle.rawValue)" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode) { (bitmap) throws(ImagingError) in try bitmap.oriented(orientation) }
    }

    /// The EXIF orientation with the same rotation.
    private var orientation: Orientation {
        switch angle {
        case .quarter: Orientation(6)
        case .half: Orientation(3)
        case .threeQuarters: Orientation(8)
        }
    }
}
