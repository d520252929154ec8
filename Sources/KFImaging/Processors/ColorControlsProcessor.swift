/// Changes saturation, contrast, brightness and exposure, in this order, on gamma-encoded values.
public struct ColorControlsProcessor: ImageProcessor, Equatable {
    /// The value added to every sample; 1 is the whole range.
    public let brightness: Double
    /// The factor of a sample's difference from 0.5.
    public let contrast: Double
    /// The factor of a sample's difference from its pixel's luma (Rec. 709); 0 makes grey.
    public let saturation: Double
    /// The exposure in stops: samples are multiplied by 2 to its power.
    public let exposure: Double

    /// The range of brightness.
    public static let brightnessRange = -1.0...1.0
    /// The range of contrast and saturation.
    public static let factorRange = 0.0...100.0
    /// The range of exposure, in stops.
    public static let exposureRange = -20.0...20.0

    /// Clamps the values to their ranges. The defaults change nothing.
    public init(brightness: Double = 0, contrast: Double = 1, saturation: Double = 1, inputEV: Double = 0) {
        self.brightness = brightness.clamped(to: Self.brightnessRange)
        self.contrast = contrast.clamped(to: Self.factorRange)
        self.saturation = saturation.clamped(to: Self.factorRange)
        exposure = inputEV.clamped(to: Self.exposureRange)
    }

    public var identifier: String {
        "color:brightness=\(NumberText.format(brightness)),contrast=\(NumberText.format(contrast))"
            + ",saturation=\(NumberText.format(saturation)),ev=\(NumberText.format(exposure))"
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let matrix = ColorMatrix(
            brightness: brightness, contrast: contrast, saturation: saturation, exposure: exposure)
        return try item.image(options.decode) { (bitmap) throws(ImagingError) in try matrix.apply(to: bitmap) }
    }
}
