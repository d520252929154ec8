@testable import KFImaging

extension ImageProbe {
    /// Checks the structure without limits, and returns the faults that cost no pixel.
    @discardableResult
    static func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [ImageWarning] {
        guard let found = try inspect(bytes, limits: unlimited) else { throw .notAnImage(ContentKind.sniff(bytes)) }
        return found.warnings
    }

    private static var unlimited: DecodeLimits { DecodeLimits(maxPixels: .max, maxSide: .max, maxFrames: .max) }
}
