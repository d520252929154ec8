import KFImaging

/// The check of bytes before anything is stored: whether they are a whole image within the limits.
package struct ImageInspector: Hashable, Sendable {
    /// The facts about an image that has passed the check.
    package struct Findings: Sendable {
        package let format: ImageFormat
        /// The header's facts; nil for a file that states no size, of a format that kf does not decode.
        package var info: ImageInfo?
        /// Warnings about damage that affects no pixel.
        package var warnings: [ImageWarning] = []
        package var extent = ImageCheck.Extent.none
    }

    let limits: DecodeLimits
    let check: ImageCheck

    package init(limits: DecodeLimits, check: ImageCheck) {
        self.limits = limits
        self.check = check
    }

    /// Checks the bytes. Throws `notAnImage` (2007), `damagedImage` (2008) or `tooLarge` (2009). A full check takes as
    /// long as decoding.
    package func inspect(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent
    ) throws(KingfisherError) -> Findings {
        guard !bytes.isEmpty else { throw .responseError(reason: .notAnImage(found: "it is empty")) }
        do {
            if let found = try ImageProbe.inspect(bytes, limits: limits, passage: passage) {
                var findings = Findings(format: found.format, info: found.info, warnings: found.warnings)
                // Images that kf does not decode are stored and delivered unchanged.
                if !found.format.isDecodable { return findings }
                findings.extent = .structure
                if check == .full { try decode(bytes, &findings) }
                return findings
            }
        } catch {
            throw KingfisherError(inspecting: error)
        }
        let isPage = ContentKind.sniff(bytes) == .html
        throw .responseError(
            reason: .notAnImage(found: isPage ? "it is an HTML page" : "no known image format begins like this"))
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
    package init(processing error: ImagingError, identifier: String) {
        self = .processorError(reason: .processingFailed(identifier: identifier, detail: error.message))
    }
}
