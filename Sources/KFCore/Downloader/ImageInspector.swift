import KFImaging

/// Says whether bytes are an image, whole and within the limits, before anything is stored.
struct ImageInspector: Hashable, Sendable {
    /// What is known of an image that has passed.
    struct Findings: Sendable {
        let format: ImageFormat
        /// Nil for formats that kf recognises and cannot read.
        var info: ImageInfo?
        /// About damage that costs no pixel.
        var warnings: [ImageWarning] = []
        var extent = ImageCheck.Extent.none
    }

    let limits: DecodeLimits
    let check: ImageCheck

    /// Throws `notAnImage` (2007), `damagedImage` (2008) or `tooLarge` (2009). A full check takes as long as a decode.
    func inspect(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent
    ) throws(KingfisherError) -> Findings {
        guard !bytes.isEmpty else { throw .responseError(reason: .notAnImage(found: "there are no bytes")) }
        switch ContentKind.sniff(bytes) {
        case .html:
            throw .responseError(reason: .notAnImage(found: "it is an HTML page"))
        case .unknown:
            throw .responseError(reason: .notAnImage(found: "no image format begins like this"))
        case .image(let format):
            var findings = Findings(format: format)
            // What cannot be decoded is kept and given out as it is.
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
        } catch .unsupported {
            // Not damaged, only of a kind that kf does not decode, such as a JPEG of 12 bits a sample.
        }
    }
}

extension KingfisherError {
    /// A refusal of bytes before they are stored.
    init(inspecting error: ImagingError) {
        switch error {
        case .tooLarge, .sideTooLong, .tooManyFrames, .tooManyScans, .animationTooLarge, .memoryLimit, .timeLimit,
            .outOfMemory:
            self = .responseError(reason: .tooLarge(detail: error.message))
        default: self = .responseError(reason: .damagedImage(detail: error.message))
        }
    }

    /// A failure of decoding, processing or encoding.
    init(processing error: ImagingError, identifier: String) {
        self = .processorError(reason: .processingFailed(identifier: identifier, detail: error.message))
    }
}
