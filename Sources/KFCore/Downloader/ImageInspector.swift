import KFImaging

/// Says whether bytes are an image, whole and within the limits, before anything is stored.
enum ImageInspector {
    /// The warnings are about damage that costs no pixel. Throws `notAnImage` (2007), `damagedImage` (2008) or `tooLarge`
    /// (2009).
    static func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage = .silent
    ) throws(KingfisherError) -> (
        format: ImageFormat, info: ImageInfo?, warnings: [ImageWarning]
    ) {
        guard !bytes.isEmpty else { throw .responseError(reason: .notAnImage(found: "there are no bytes")) }
        switch ContentKind.sniff(bytes) {
        case .html:
            throw .responseError(reason: .notAnImage(found: "it is an HTML page"))
        case .unknown:
            throw .responseError(reason: .notAnImage(found: "no image format begins like this"))
        case .image(let format):
            // What cannot be decoded is kept and given out as it is.
            guard format.isDecodable else { return (format, nil, []) }
            do {
                let info = try ImageProbe.probe(bytes, limits: limits, passage: passage)
                return (format, info, try ImageProbe.checkStructure(bytes, passage: passage))
            } catch {
                throw KingfisherError(inspecting: error)
            }
        }
    }
}

extension KingfisherError {
    /// A refusal of bytes before they are stored.
    init(inspecting error: ImagingError) {
        switch error {
        case .tooLarge, .sideTooLong, .tooManyFrames, .animationTooLarge, .memoryLimit:
            self = .responseError(reason: .tooLarge(detail: error.message))
        default: self = .responseError(reason: .damagedImage(detail: error.message))
        }
    }

    /// A failure of decoding, processing or encoding.
    init(processing error: ImagingError, identifier: String) {
        self = .processorError(reason: .processingFailed(identifier: identifier, detail: error.message))
    }
}
