import KFImaging

/// The check of bytes before anything is stored: whether they are a whole image within the limits.
struct ImageInspector: Hashable, Sendable {
    /// The facts about an image that has passed the check.
    struct Findings: Sendable {
        let format: ImageFormat
        /// The header's facts; nil for formats that kf recognises and does not decode.
        var info: ImageInfo?
        /// Warnings about damage that affects no pixel.
        var warnings: [ImageWarning] = []
        var extent = ImageCheck.Extent.none
    }

    let limits: DecodeLimits
    let check: ImageCheck

    /// Checks the bytes. Throws `notAnImage` (2007), `damagedImage` (2008) or `tooLarge` (2009). A full check takes as
    /// long as decoding.
    func inspect(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent
    ) throws(KingfisherError) -> Findings {
        guard !bytes.isEmpty else { throw .responseError(reason: .notAnImage(found: "it is empty")) }
        switch ContentKind.sniff(bytes) {
        case .html:
            throw .responseError(reason: .notAnImage(found: "it is an HTML page"))
        case .unknown:
            throw .responseError(reason: .notAnImage(found: "no known image format begins like this"))
        case .image(let format):
            var findings = Findings(format: format)
            // Images that kf does not decode are stored and delivered unchanged.
            guard format.isDecodable else { return findings }
            do {
                findings.info = try ImageProbe.probe(bytes, limits: limits, passage: passage)
                findings.warnings = try ImageProbe.checkStructure(bytes, passage: passage)
                findings.extent = .structure
                if check == .full { try decode(bytes, &findings) }
                return findings
            } catch {
                throw KingfisherError(inspecting: error)
            }
        }
    }

    private func decode(_ bytes: UnsafeRawBufferPointer, _ findings: inout Findings) throws(ImagingError) {
        do {
            for warning in try ImageDecoder.check(bytes, limits: limits) where !findings.warnings.contains(warning) {
                findings.warnings.append(warning)
            }
            findings.extent = .full
        } catch .unsupported, .missingLibrary {
            // The image is intact, and of a kind that kf does not decode (a JPEG with 12 bits a sample) or cannot here.
        }
    }
}

extension KingfisherError {
    /// Converts an error of the check before storing.
    init(inspecting error: ImagingError) {
        switch error {
        case .tooLarge, .sideTooLong, .tooManyFrames, .tooManyScans, .animationTooLarge, .memoryLimit, .timeLimit,
            .outOfMemory:
            self = .responseError(reason: .tooLarge(detail: error.message))
        default: self = .responseError(reason: .damagedImage(detail: error.message))
        }
    }

    /// Converts an error of decoding, processing or encoding.
    init(processing error: ImagingError, identifier: String) {
        self = .processorError(reason: .processingFailed(identifier: identifier, detail: error.message))
    }
}
