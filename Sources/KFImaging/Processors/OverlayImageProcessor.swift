/// Mixes every pixel with a colour.
public struct OverlayImageProcessor: ImageProcessor, Equatable {
    /// The colour that is mixed into every pixel; the image's alpha is multiplied by its alpha.
    public let color: Color
    /// The share of the image that stays, from 0 to 1.
    public let fraction: Double

    /// Clamps the fraction to 0…1.
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
