import KFCore

/// The settings that `fetch` and `prefetch` make of `--remote` and its companions.
struct RemoteSettings: Sendable {
    let layers: [any CacheLayer]
    private let writes: Bool
    private let isRequired: Bool
    private let isVerbose: Bool

    init(_ arguments: ParsedArguments, _ transfer: TransferOptions) throws(UsageError) {
        let addresses = try arguments[Options.remote]
        let creates = try arguments[Options.remoteWrite]
        var layers: [any CacheLayer] = []
        for address in addresses {
            do throws(KingfisherError) {
                layers.append(
                    try RemoteCacheLayer.layer(
                        address, options: transfer, environment: arguments.environment,
                        creates: creates && layers.isEmpty))
            } catch {
                throw UsageError(message: "--remote: \(error.message)")
            }
        }
        self.layers = layers
        writes = try arguments[Options.remoteWrite]
        isRequired = try arguments[Options.remoteRequired]
        isVerbose = try arguments[Options.verbose]
        for option in [Options.remoteWrite, Options.remoteRequired] where layers.isEmpty {
            // The environment of a job may set it where the address, a secret, is empty.
            if try arguments[option], arguments.isOnCommandLine(option) {
                throw UsageError(message: "--\(option.spec.name) needs a --remote")
            }
        }
    }

    func apply(to configuration: inout ImageCache.Configuration) {
        configuration.remotes = layers
        configuration.writesToRemote = writes
        configuration.requiresRemotes = isRequired
        configuration.namesImagesNotUploaded = isVerbose
    }
}

extension RemoteCounts {
    /// The counts in words.
    var summary: String {
        var parts = [EntryText.count(Int(hits), "hit"), EntryText.count(Int(misses), "miss", "misses")]
        if errors > 0 { parts.append(EntryText.count(Int(errors), "error")) }
        if uploaded > 0 { parts.append("\(uploaded) uploaded") }
        if dropped > 0 { parts.append("\(dropped) dropped") }
        return parts.joined(separator: ", ")
    }

    /// The member of a summary.
    static func field<Record>(_ value: @escaping @Sendable (Record) -> RemoteCounts?) -> JSONField<Record> {
        JSONField(
            "remote",
            "With --remote: the numbers of images that came from it and that it did not have (hits, misses), of requests "
                + "that failed (errors), and of images that were uploaded and that were not (uploaded, dropped); else null."
        ) { value($0).map { JSONObject(part: $0, fields) } }
    }

    static let fields: [JSONField<RemoteCounts>] = [
        JSONField("hits", nil) { $0.hits }, JSONField("misses", nil) { $0.misses },
        JSONField("errors", nil) { $0.errors }, JSONField("uploaded", nil) { $0.uploaded },
        JSONField("dropped", nil) { $0.dropped },
    ]
}
