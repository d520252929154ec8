import KFCore

/// `kf cache verify --lock FILE`: which locked images the cache has. Nothing is fetched or changed.
enum CacheLockCheck {
    private enum State: String, CaseIterable, Sendable {
        /// The cache has the bytes, and they were read.
        case held
        case missing
        /// The cache has other bytes under the URL.
        case differs
    }

    private typealias Finding = (url: String, image: ImageLock.Image, state: State, found: String?)

    static func run(_ path: String, _ common: CommonSettings) -> ExitStatus {
        common.onCache(access: .readOnly) { cache throws(KingfisherError) in
            let images: [(url: String, image: ImageLock.Image)]
            do throws(KingfisherError) { images = try ImageLock.images(of: path) } catch {
                Terminal.printFailure("kf: --lock: \(Terminal.visible(error.message))")
                return .usage
            }
            var counts: [State: Int] = [:]
            for (url, image) in images {
                let finding = try await look(for: url, image, in: cache)
                counts[finding.state, default: 0] += 1
                report(finding, common)
            }
            let status: ExitStatus = counts[.held, default: 0] == images.count ? .success : .someFailed
            let sums = State.allCases.map { ($0, counts[$0, default: 0]) }
            if common.json {
                let record = (images.count, counts[.held] ?? 0, counts[.missing] ?? 0, counts[.differs] ?? 0)
                Terminal.print(JSONObject(summary: record, summary, status: status).json)
            } else if !common.quiet {
                let text = sums.map { "\($0.1) \($0.0 == .differs ? "differ" : $0.0.rawValue)" }
                Terminal.print("\(Terminal.visible(path)): \(text.joined(separator: ", "))")
            }
            return status
        }
    }

    private static func look(
        for url: String, _ image: ImageLock.Image, in cache: ImageCache
    ) async throws(KingfisherError) -> Finding {
        // The URL may have an original for each of several users or representations; one with the hash is sufficient.
        let originals = try await cache.entries(forKey: url).filter(\.isOriginal)
        var found: String?
        for entry in originals where entry.answerStatus == nil {
            guard let sha256 = entry.facts.sha256, let own = ContentHash(sha256) else { continue }
            if own == image.hash, try await cache.holdsWhole(entry) { return (url, image, .held, nil) }
            if own != image.hash { found = own.description }
        }
        return (url, image, found == nil ? .missing : .differs, found)
    }

    private static func report(_ finding: Finding, _ common: CommonSettings) {
        if common.json { return Terminal.print(JSONObject(finding, fields).json) }
        if common.quiet || finding.state == .held && !common.verbose { return }
        let shown = common.verbose ? finding.url : RequestURL.redacted(finding.url)
        Terminal.print("\(finding.state.rawValue): \(Terminal.visible(shown))")
    }

    private static let fields: [JSONField<Finding>] = [
        JSONField("url", nil) { $0.url }, JSONField("state", nil) { $0.state.rawValue },
        JSONField("expected", nil) { $0.image.hash.description }, JSONField("found", nil) { $0.found },
    ]

    private static let summary: [JSONField<(images: Int, held: Int, missing: Int, differ: Int)>] = [
        JSONField("images", nil) { $0.images }, JSONField("held", nil) { $0.held },
        JSONField("missing", nil) { $0.missing }, JSONField("differ", nil) { $0.differ },
    ]
}
