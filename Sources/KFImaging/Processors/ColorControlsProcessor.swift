/// Changes saturation, contrast, brightness and exposure, in this order and on the encoded values.
public struct ColorControlsProcessor: ImageProcessor, Equatable {
    /// Added to every sample; 1 is the whole range.
    public let brightness: Double
    /// The factor of a sample's distance from the middle.
    public let contrast: Double
    /// The factor of a sample's distance from its pixel's luma (Rec. 709); 0 makes grey.
    public let saturation: Double
    /// In stops: the factor is 2 to the power of it.
    public let exposure: Double

    /// What brightness may be.
    public static let brightnessRange = -1.0...1.0
    /// Of contrast and saturation.
    public static let factorRange = 0.0...100.0
    /// What exposure may be, in stops.
    public static let exposureRange = -20.0...20.0

    /// Changes nothing by default; nil for values outside their ranges.
    public init?(brightness: Double = 0, contrast: Double = 1, saturation: Double = 1, exposure: Double = 0) {
        guard ColorControlsProcessor.brightnessRange.contains(brightness),
            ColorControlsProcessor.factorRange.contains(contrast),
            ColorControlsProcessor.factorRange.contains(saturation),
            ColorControlsProcessor.exposureRange.contains(exposure)
        else { return nil }
        self.brightness = brightness
        self.contrast = contrast
        self.saturation = saturation
        self.exposure = exposure
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
