import KFImaging
import KFStorage
import KFTerms

extension WatermarkImageProcessor {
    /// Takes the bytes of an image file, of which the first frame is the overlay; a profile is converted to sRGB.
    ///
    /// - Throws: the errors of the decoder.
    public init(
        overlay: [UInt8], placement: Placement = Placement(), limits: DecodeLimits = DecodeLimits()
    ) throws(ImagingError) {
        let hash = overlay.withUnsafeBytes { SHA256.hash($0).hex }
        try self.init(decoding: overlay, hash: "sha256:\(hash)", placement, limits: limits)
    }
}

extension KingfisherManager {
    /// Returns a processor that `ProcessorParser` made with the overlays of its watermarks, which its text only names.
    ///
    /// Each overlay is retrieved as an unprocessed image under the options, without the credentials, the client certificate
    /// and the secret headers, which are for sources. `source` makes a source of its name.
    public func loadingOverlays(
        of processor: any ImageProcessor, options: KingfisherOptions,
        source: @Sendable (String) throws(KingfisherError) -> Source
    ) async throws(KingfisherError) -> any ImageProcessor {
        if processor.missingOverlay == nil { return processor }
        var terms = options
        terms.processor = DefaultImageProcessor()
        terms.cacheSerializer = DefaultCacheSerializer()
        (terms.expectedHash, terms.alternativeSources, terms.onFailureImage) = (nil, [], nil)
        terms.request = terms.request.outsideScope
        (terms.progress, terms.progressiveJPEG, terms.imageModifier) = (nil, nil, nil)
        var result: any ImageProcessor = DefaultImageProcessor()
        for step in processor.steps {
            guard let (watermark, name) = step.unreadWatermark else {
                result = result.append(another: step)
                continue
            }
            let origin = try source(name)
            var options = terms
            // A local file is at hand, and need not be in the cache.
            if case .provider = origin { options.cacheMemoryOnly = true }
            let overlay = try await retrieveImage(with: origin, options: options).data()
            do {
                let loaded = try WatermarkImageProcessor(
                    overlay: overlay, placement: watermark.placement, limits: options.decodeLimits)
                result = result.append(another: loaded)
            } catch {
                throw KingfisherError(processing: error, identifier: watermark.identifier)
            }
        }
        return result
    }
}
