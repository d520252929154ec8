import KFImaging
import KFNetwork

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
    /// The images and the responses that are refused; nil refuses none.
    package var filter: ImageFilter?
    package let optOut: OptOut?

    package init(limits: DecodeLimits, check: ImageCheck, filter: ImageFilter? = nil, optOut: OptOut? = nil) {
        (self.limits, self.check) = (limits, check)
        (self.filter, self.optOut) = (filter, optOut)
    }

    /// The first bytes of a body are judged from here on: an ISO file may state more brands behind the first ones.
    private static let leastStart = 1024

    /// Returns why a response is refused by its head; nil if its body may be received.
    package func refusal(of head: ResponseHead) -> KingfisherError? {
        if let header = optOut?.header(in: head.headers.optOut) {
            return .responseError(reason: .optedOut(header: header))
        }
        // Other statuses announce no size of an image, and neither do encoded bodies.
        guard head.status == 200, head.headers[.contentEncoding] == nil, let bytes = head.contentLength else {
            return nil
        }
        return refusal(of: ImageMeasures(bytes: bytes))
    }

    /// Returns why an image is refused by the first bytes of its body; nil if that is not known. `length` is that of the
    /// body, if it was announced.
    package func refusal(ofStart bytes: UnsafeRawBufferPointer, length: Int64?) -> KingfisherError? {
        guard let filter, bytes.count >= Self.leastStart, let image = ImageProbe.measure(bytes) else { return nil }
        let measures = ImageMeasures(image, bytes: length)
        return filter.refusal(ofArriving: measures).map { .responseError(reason: .filtered(measures, detail: $0)) }
    }

    /// Returns why an image is refused; nil if it is accepted.
    package func refusal(of image: ImageMeasures, isWhole: Bool = false) -> KingfisherError? {
        filter?.refusal(of: image, isWhole: isWhole).map { .responseError(reason: .filtered(image, detail: $0)) }
    }

    /// Checks the bytes. Throws `notAnImage` (2007), `damagedImage` (2008), `tooLarge` (2009) or `filtered` (2012). A full
    /// check takes as long as decoding.
    package func inspect(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent
    ) throws(KingfisherError) -> Findings {
        guard !bytes.isEmpty else { throw .responseError(reason: .notAnImage(found: "it is empty")) }
        // The filter comes first, as it does for a body that is judged by its first bytes.
        if filter != nil, let image = ImageProbe.measure(bytes),
            let refusal = refusal(of: ImageMeasures(image, bytes: Int64(bytes.count)), isWhole: true)
        {
            throw refusal
        }
        do {
            if let (format, info, warnings) = try ImageProbe.inspect(bytes, limits: limits, passage: passage) {
                var findings = Findings(format: format, info: info, warnings: warnings)
                // Images that kf does not decode are stored and delivered unchanged.
                if !format.isDecodable { return findings }
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

    /// Judges a body that ended with its connection, which may be cut anywhere: a file without the end mark of its format is
    /// truncated, even if the bytes end between two frames.
    package func judge(undelimited findings: Findings) throws(KingfisherError) -> Findings {
        var findings = findings
        for (index, warning) in findings.warnings.enumerated() {
            guard case .noEndMark(let format) = warning else { continue }
            let fault = ImagingError.truncated(format)
            guard limits.toleratesDamage else { throw KingfisherError(inspecting: fault) }
            findings.warnings[index] = .damaged(reason: fault.message)
        }
        return findings
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

extension ImageMeasures {
    init(_ image: (format: ImageFormat, info: ImageInfo?), bytes: Int64?) {
        self.init(format: image.format, width: image.info?.width, height: image.info?.height, bytes: bytes)
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
