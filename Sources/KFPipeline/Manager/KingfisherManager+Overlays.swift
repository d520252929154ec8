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
        var overlays: [String: [UInt8]] = [:]
        for name in processor.missingOverlays where overlays[name] == nil {
            overlays[name] = try await retrieveOverlay(of: try source(name), options: options).data()
        }
        return try processor.with(overlays, limits: options.decodeLimits)
    }

    /// Retrieves an overlay under the options of the images: unprocessed, and not judged by what those must be.
    package func retrieveOverlay(
        of source: Source, options: KingfisherOptions, pin: ContentHash? = nil
    ) async throws(KingfisherError) -> RetrieveImageResult {
        var options = options
        options.expectedHash = pin
        options.request = options.request.outsideScope
        options.takeOriginal()
        (options.alternativeSources, options.onFailureImage, options.filter, options.optOut) = ([], nil, nil, nil)
        (options.progress, options.progressiveJPEG, options.imageModifier) = (nil, nil, nil)
        // The overlay is wanted, not an entry of the cache.
        if case .provider = source { options.cacheMemoryOnly = true }
        options.readLocal(source)
        return try await retrieveImage(with: source, options: options)
    }
}

extension ImageProcessor {
    /// Returns the processor with the overlays of its watermarks. `overlays` has the bytes of each by its name.
    package func with(
        _ overlays: [String: [UInt8]], limits: DecodeLimits
    ) throws(KingfisherError) -> any ImageProcessor {
        if missingOverlays.isEmpty { return self }
        var result: any ImageProcessor = DefaultImageProcessor()
        for step in steps {
            guard let (watermark, name) = step.unreadWatermark, let overlay = overlays[name] else {
                result = result.append(another: step)
                continue
            }
            do {
                let loaded = try WatermarkImageProcessor(
                    overlay: overlay, placement: watermark.placement, limits: limits)
                result = result.append(another: loaded)
            } catch {
                throw KingfisherError(processing: error, identifier: watermark.identifier)
            }
        }
        return result
    }
}

extension KingfisherOptions {
    /// Reads a file that the images need beside their sources, whatever ``onlyFromCache`` and ``offline`` say of those: it
    /// is at hand, and need not be in the cache.
    package mutating func readLocal(_ source: Source) {
        if case .provider = source { (onlyFromCache, offline) = (false, false) }
    }

    /// Asks for the bytes of the source as they are.
    mutating func takeOriginal() {
        processor = DefaultImageProcessor()
        cacheSerializer = DefaultCacheSerializer()
        onlyLoadFirstFrame = false
        decodeLimits.scaleDownBytes = nil
        scaleFactor = 1
    }
}
