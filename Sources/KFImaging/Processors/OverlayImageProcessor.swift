/// Mixes every pixel with a colour.
public struct OverlayImageProcessor: ImageProcessor, Equatable {
    /// Mixed into every pixel; its alpha is multiplied into the image's.
    public let color: Color
    /// How much of the image stays, from 0 to 1.
    public let fraction: Double

    /// A fraction outside 0…1 counts as the nearest in it.
    public init(overlay: Color, fraction: Double = 0.5) {
        color = overlay
        self.fraction = fraction.clamped(to: 0...1)
    }

    public var identifier: String { "overlay:\(color.hexadecimal),fraction=\(NumberText.format(fraction))" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let (share, colors, alpha) = (fraction, color.units, color.units[3])
        let tables = ChannelTables(
            colors: colors.prefix(3).map { color in { share * $0 + (1 - share) * color } }, alpha: { $0 * alpha })
        return try item.image(options.decode, coloring: !color.isGray) { (bitmap) throws(ImagingError) in
            let bitmap = try bitmap.reducedToEightBits().expanded(color: !color.isGray, alpha: color.alpha < 255)
            return try tables.apply(to: bitmap)
        }
    }
}
