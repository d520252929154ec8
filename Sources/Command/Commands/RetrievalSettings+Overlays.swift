import KFCore

extension RetrievalSettings {
    /// Reads the overlays of all watermarks, before the first image: their hashes are part of the cache keys.
    /// `offline` makes no request for them.
    mutating func loadOverlays(_ manager: KingfisherManager, offline: Bool) async throws(KingfisherError) {
        for index in variants.indices {
            var options = variants[index].options
            options.offline = options.offline || offline
            variants[index].options.processor = try await manager.loadingOverlays(
                of: options.processor, options: options
            ) { name throws(KingfisherError) in try SourceArgument.source(name) }
        }
    }

    /// Returns the settings with the overlays of all watermarks; nil after reporting that one cannot be had. Blocks.
    func withOverlays(
        _ manager: KingfisherManager, _ common: CommonSettings, offline: Bool = false
    ) -> RetrievalSettings? {
        let names = variants.compactMap { $0.options.processor.missingOverlay }
        guard let first = names.first else { return self }
        let settings = self
        let loaded = Blocking.wait { () -> Result<RetrievalSettings, KingfisherError> in
            var settings = settings
            do throws(KingfisherError) { try await settings.loadOverlays(manager, offline: offline) } catch {
                return .failure(error)
            }
            return .success(settings)
        }
        switch loaded {
        case .success(let settings): return settings
        case .failure(let error):
            common.report(error, for: Set(names).count > 1 ? "a watermark" : "watermark \(RequestURL.redacted(first))")
            return nil
        }
    }
}
