import KFCore

extension RetrievalSettings {
    /// Reads the overlays of all watermarks, before the first image: their hashes are part of the cache keys.
    ///
    /// The images whose overlay cannot be had fail with its error, each for itself. `isLook` makes no request. An
    /// overlay that is not cached is then no failure of the run.
    mutating func loadOverlays(_ manager: KingfisherManager, isLook: Bool) async {
        var loaded: [String: Result<[UInt8], KingfisherError>] = [:]
        for index in variants.indices {
            let processor = variants[index].options.processor
            do throws(KingfisherError) {
                var overlays: [String: [UInt8]] = [:]
                for name in processor.missingOverlays {
                    if loaded[name] == nil { loaded[name] = await overlay(name, manager, isLook: isLook) }
                    overlays[name] = try loaded[name]?.get()
                }
                variants[index].options.processor = try processor.with(overlays, limits: options.decodeLimits)
            } catch {
                variants[index].options.overlayProblem = error
            }
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
            lock?.note(image)
            return .success(try await image.data())
        } catch {
            return .failure(error)
        }
    }

    /// Whether a watermark has an overlay that is not read yet.
    var lacksOverlays: Bool {
        // A key path of four steps costs a hit 70,000 instructions.
        variants.contains { !$0.options.processor.missingOverlays.isEmpty }
    }

    /// Returns the settings with the overlays of all watermarks. Blocks.
    func withOverlays(_ manager: KingfisherManager, isLook: Bool = false) -> RetrievalSettings {
        guard lacksOverlays else { return self }
        let settings = self
        return Blocking.wait {
            var settings = settings
            await settings.loadOverlays(manager, isLook: isLook)
            return settings
        }
    }

    /// The overlay without which a variant failed, for messages; nil when the error is another one.
    func overlay(of variant: Int, missedBy error: KingfisherError?) -> String? {
        let options = variants[variant].options
        guard let error, options.overlayProblem == error else { return nil }
        return options.processor.missingOverlays.first.map { "watermark \(RequestURL.redacted($0))" }
    }
}
