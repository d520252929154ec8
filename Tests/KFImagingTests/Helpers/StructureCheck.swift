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

/// The error that the work throws; nil when it succeeds.
func failure<Value>(_ work: () throws(ImagingError) -> Value) -> ImagingError? {
    do throws(ImagingError) {
        _ = try work()
        return nil
    } catch {
        return error
    }
}

extension [UInt8] {
    func probe() throws(ImagingError) -> ImageInfo {
        try withRaw { (bytes) throws(ImagingError) in try ImageProbe.probe(bytes) }
    }

    @discardableResult
    func checkStructure() throws(ImagingError) -> [ImageWarning] {
        try withRaw { (bytes) throws(ImagingError) in try ImageProbe.checkStructure(bytes) }
    }

    /// Checks the structure and decodes the pixels without keeping them.
    func checkFully(limits: DecodeLimits = DecodeLimits()) throws(ImagingError) -> [ImageWarning] {
        try withRaw { (bytes) throws(ImagingError) in try ImageDecoder.check(bytes, limits: limits) }
    }
}
