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

    /// Changes nothing by default. Values outside their ranges count as the nearest in them.
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
