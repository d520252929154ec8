import KFCore
import Synchronization

/// The settings that `fetch` and `prefetch` make of `--remote` and its companions.
struct RemoteSettings: Sendable {
    private(set) var layers: [any CacheLayer] = []
    private let dropped: DroppedUploads?
    let apply: @Sendable (inout ImageCache.Configuration) -> Void

    init(_ arguments: ParsedArguments, _ transfer: TransferOptions, pulls: Bool) throws(UsageError) {
        let writes = try arguments[Options.remoteWrite]
        layers = try Self.layers(arguments, transfer, creates: writes)
        let wait = try arguments[Options.remoteWait]
        // Without its only remote, a pull is in vain.
        let isRequired = pulls ? layers.count == 1 : try arguments[Options.remoteRequired]
        // A dry run uploads nothing, and leaves the file of an earlier run as it is.
        let isDryRun = try arguments[Options.prefetchDryRun]
        let dropped = try arguments[Options.remoteDropped].flatMap { path throws(UsageError) in
            isDryRun ? nil : try DroppedUploads(path)
        }
        let isVerbose = try arguments[Options.verbose]
        self.dropped = dropped
        apply = { [layers] configuration in
            configuration.remotes = layers
            configuration.writesToRemote = writes
            configuration.requiresRemotes = isRequired
            configuration.namesImagesNotUploaded = isVerbose
            configuration.remoteWait = wait
            if let dropped { configuration.didDropUpload = { dropped.add($0) } }
        }
        for option in [Options.remoteWrite, Options.remoteRequired] where layers.isEmpty {
            // The environment of a job may set it where the address, a secret, is empty.
            if try arguments[option], arguments.isOnCommandLine(option) {
                throw UsageError(message: "--\(option.spec.name) needs a --remote")
            }
        }
    }

    /// The settings of `kf cache push`, which fills the first remote and waits for every upload.
    init(pushing arguments: ParsedArguments) throws(UsageError) {
        guard try !arguments[Options.remote].isEmpty else {
            throw UsageError(message: "'kf cache push' needs a --remote")
        }
        var options = KingfisherOptions()
        try options.takeNetwork(arguments)
        layers = try Self.layers(arguments, options.request.transfer, creates: true)
        dropped = nil
        apply = { [layers] configuration in
            configuration.remotes = layers
            configuration.writesToRemote = true
            configuration.requiresRemotes = true
            configuration.remoteWait = nil
        }
    }

    /// Returns the remotes. With `creates`, the first one makes a missing directory.
    private static func layers(
        _ arguments: ParsedArguments, _ transfer: TransferOptions, creates: Bool
    ) throws(UsageError) -> [any CacheLayer] {
        var layers: [any CacheLayer] = []
        for address in try arguments[Options.remote] {
            do throws(KingfisherError) {
                layers.append(
                    try RemoteCacheLayer.layer(
                        address, options: transfer, environment: arguments.environment,
                        creates: creates && layers.isEmpty))
            } catch {
                throw UsageError(message: "--remote: \(error.message)")
            }
        }
        return layers
    }

    /// Completes the file of `--remote-dropped`, after the cache was closed.
    func finish() -> ExitStatus {
        guard let problem = dropped?.finish() else { return .success }
        Terminal.printError("kf: --remote-dropped: \(Terminal.visible(problem))")
        return .cacheFailed
    }
}

/// The file of `--remote-dropped`: a list of the URLs whose images were not uploaded. Only the owner may read it, since
/// URLs may hold signatures.
private final class DroppedUploads: Sendable {
    private struct Dropped: ~Copyable {
        var file: AppendedFile
        var last = ""
    }

    private let state: Mutex<Dropped>

    init(_ path: String) throws(UsageError) {
        state = Mutex(Dropped(file: try AppendedFile(path, option: "--remote-dropped")))
    }

    func add(_ source: String) {
        state.withLock { state in
            // The variants of an image come one after the other.
            guard source != state.last else { return }
            state.last = source
            state.file.append(Array((source + "\n").utf8))
        }
    }

    /// Empties the file of an earlier run if this run has dropped nothing. Returns the reason why lines are missing.
    func finish() -> String? {
        state.withLock { state in
            state.file.empty()
            return state.file.problem
        }
    }
}

extension RemoteCounts {
    var summary: String {
        var parts = [EntryText.count(Int(hits), "hit"), EntryText.count(Int(misses), "miss", "misses")]
        if errors > 0 { parts.append(EntryText.count(Int(errors), "error")) }
        parts += EntryText.counts(
            (Int(uploaded), "uploaded"), (Int(retried), "retried"), (Int(dropped), "dropped"))
        return parts.joined(separator: ", ")
    }

    static let retries = JSONField<RemoteCounts>("retried", nil) { $0.retried }

    static let fields: [JSONField<RemoteCounts>] = [
        JSONField("hits", nil) { $0.hits }, JSONField("misses", nil) { $0.misses },
        JSONField("errors", nil) { $0.errors }, JSONField("uploaded", nil) { $0.uploaded },
        JSONField("dropped", nil) { $0.dropped },
    ]
}
