import KFCore

extension RetrievalSettings {
    /// Returns the settings with the overlays of all watermarks, which are read before the first image: their hashes are
    /// part of the cache keys. Blocks.
    ///
    /// The images whose overlay cannot be had fail with its error, each for itself. `isLook` makes no request. An
    /// overlay that is not cached is then no failure of the run.
    func withOverlays(_ manager: KingfisherManager, isLook: Bool = false) -> RetrievalSettings {
        guard lacksOverlays else { return self }
        let known = self
        return Blocking.wait {
            var settings = known
            var loaded: [String: Result<[UInt8], KingfisherError>] = [:]
            for (index, variant) in known.variants.enumerated() {
                let processor = variant.options.processor
                do throws(KingfisherError) {
                    var overlays: [String: [UInt8]] = [:]
                    for name in processor.missingOverlays {
                        if loaded[name] == nil { loaded[name] = await known.overlay(name, manager, isLook: isLook) }
                        overlays[name] = try loaded[name]?.get()
                    }
                    settings.variants[index].options.processor = try processor.with(
                        overlays, limits: known.options.decodeLimits)
                } catch {
                    settings.variants[index].options.overlayProblem = error
                }
            }
            return settings
        }
    }

    private func overlay(
        _ name: String, _ manager: KingfisherManager, isLook: Bool
    ) async -> Result<[UInt8], KingfisherError> {
        var options = options
        options.offline = options.offline || isLook
        options.notesOriginal = lock != nil
        do throws(KingfisherError) {
            let source = try SourceArgument.source(name)
            let image = try await manager.retrieveOverlay(
                of: source, options: options, pin: try lock?.pin(of: source, isOverlay: true))
            if let error = lock?.note(image) { throw error }
            return .success(try await image.data())
        } catch {
            return .failure(error)
        }
    }

    /// Keeps copies from replacing files of the run and what its caches hold, and refuses other outputs that would.
    func protectFiles(
        of arguments: ParsedArguments, _ inputs: [String], _ common: CommonSettings, from exporter: ImageExporter?
    ) throws(UsageError) {
        var overlays: [String] { variants.flatMap { $0.options.processor.missingOverlays } }
        try arguments.refuseSharedFiles(reading: inputs + overlays)
        guard let exporter else { return }
        exporter.protect(inputs + overlays + arguments.files)
        exporter.protect(
            caches: ([common.cacheDirectory] + lowerLayers).filter { !$0.isEmpty },
            remotes: try arguments[Options.remote])
    }

    /// Whether a watermark has an overlay that is not read yet.
    var lacksOverlays: Bool {
        // A key path of four steps costs a hit 70,000 instructions.
        variants.contains { !$0.options.processor.missingOverlays.isEmpty }
    }

    /// The overlay without which a variant failed, for messages; nil when the error is another one.
    func overlay(of variant: Int, missedBy error: KingfisherError?) -> String? {
        let options = variants[variant].options
        guard let error, options.overlayProblem == error else { return nil }
        return options.processor.missingOverlays.first.map { "watermark \(RequestURL.redacted($0))" }
    }
}
