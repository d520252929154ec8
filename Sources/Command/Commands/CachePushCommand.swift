import KFCore
import Synchronization

/// `kf cache push`: uploads the images that a remote lacks.
struct CachePushCommand: Sendable {
    private let common: CommonSettings
    private let selection: EntrySelection
    private let listed: ListedImages?
    private let remotes: RemoteSettings
    private let progress: ProgressBar.Style
    private let isDryRun: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        selection = try EntrySelection(arguments)
        listed = try ListedImages(arguments, locks: Options.pushedLock)
        isDryRun = try arguments[Options.pushDryRun]
        progress = ProgressBar.Style(try arguments[Options.progress], quiet: try arguments[Options.quiet])
        remotes = try RemoteSettings(pushing: arguments)
    }

    func run() -> ExitStatus {
        common.onCache(access: .existing, remotes.apply) { cache throws(KingfisherError) in
            guard let noted = try await selection.noted(in: cache, common) else { return .someFailed }
            var (selected, status) = (noted.selection, noted.status)
            var keys: Set<String>?
            if let listed {
                do throws(KingfisherError) { keys = try await listed.keys(common) } catch {
                    Terminal.printFailure("kf: \(listed.option): \(Terminal.visible(error.message))")
                    return .usage
                }
                selected.keys = KeyChoice(
                    keys: keys?.union(selected.keys?.keys ?? []) ?? [], globs: selected.keys?.globs ?? [])
            }
            let bar = ProgressBar(progress, WaitReport(), uploads: { cache.uploadProgress }) { nil }
            bar.update { $0.isOver = true }
            let interrupts = Interrupts { _ in
                cache.endWaiting(within: .zero)
            } second: {
            }
            let missing = Mutex(keys)
            let pushed = try await cache.push(selected, changesNothing: isDryRun) { entry, outcome in
                missing.withLock { _ = $0?.remove(KeyChoice.base(of: entry.name.key)) }
                report(entry, outcome)
            }
            bar.end()
            let result = pushed ?? CachePush()
            if pushed == nil || listed != nil && result.ended == 0 {
                let place = Terminal.visible(common.cacheDirectory)
                Terminal.printFailure(
                    pushed == nil
                        ? "kf: \(place): no cache yet" : "kf: the cache has no image that \(listed?.option ?? "") names"
                )
                status.raise(to: .someFailed)
            }
            if result.failed + result.notTried > 0 {
                status.raise(to: .someFailed)
                if let problem = cache.remoteProblem {
                    common.report(problem, for: nil)
                    status.raise(to: problem.status)
                }
            }
            if let interrupted = interrupts.status { status.raise(to: interrupted) }
            await cache.close()
            print(result, notCached: missing.withLock { $0?.count }, status)
            status.raise(to: remotes.finish())
            return status
        }
    }

    private func report(_ entry: CachedEntry, _ outcome: CachePush.Outcome) {
        let isShown = common.verbose || isDryRun
        if common.json {
            if isShown { Terminal.print(JSONObject((entry.name, outcome, isDryRun), Self.fields).json) }
            return
        }
        switch outcome {
        case .uploaded where isShown && !common.quiet:
            Terminal.print(EntryText.name(entry.name, whole: common.verbose))
        case .skipped(let reason) where common.verbose:
            common.warn("not shared: \(reason)", about: EntryText.name(entry.name, whole: true))
        case .failed(let reason) where common.verbose:
            common.warn("not uploaded: \(reason)", about: EntryText.name(entry.name, whole: true))
        default: break
        }
    }

    private func print(_ result: CachePush, notCached: Int?, _ status: ExitStatus) {
        if common.json {
            let record = (result, remotes.layers.first?.name, isDryRun, notCached)
            return Terminal.print(JSONObject(summary: record, Self.summary, status: status).json)
        }
        guard !common.quiet || result.failed + result.notTried > 0 else { return }
        var parts = [
            "\(result.uploaded.entries) \(isDryRun ? "to upload" : "uploaded") (\(ByteText.bytes(result.uploaded.bytes)))"
        ]
        parts.append("\(result.present) there already")
        parts += EntryText.counts(
            (result.skipped, "not to be shared"), (result.failed, "failed"), (result.notTried, "not tried"),
            (notCached ?? 0, "of the list not cached"))
        let hint = result.skipped + result.failed > 0 && !common.verbose ? "; -v says why" : ""
        Terminal.printError("kf: \(parts.joined(separator: ", "))\(hint)")
    }

    static let fields: [JSONField<(name: EntryName, outcome: CachePush.Outcome, isDryRun: Bool)>] = [
        JSONField(
            "status", "With -v or --dry-run, for each image: uploaded, would_be_uploaded, present, skipped or failed."
        ) {
            switch $0.outcome {
            case .uploaded: $0.isDryRun ? "would_be_uploaded" : "uploaded"
            case .present: "present"
            case .skipped: "skipped"
            case .failed: "failed"
            }
        },
        JSONField("key", CommonFields.key) { $0.name.key },
        JSONField("identifier", EntryTable.identifier) { $0.name.identifier },
        JSONField("reason", "Why the image was skipped or failed.") { record -> String? in
            switch record.outcome {
            case .skipped(let reason), .failed(let reason): reason
            case .uploaded, .present: nil
            }
        },
    ]

    static let summary: [JSONField<(result: CachePush, remote: String?, isDryRun: Bool, notCached: Int?)>] = [
        JSONField("remote", "The name of the remote.") { $0.remote },
        JSONField("dry_run", "Whether --dry-run was given, so that nothing was uploaded.") { $0.isDryRun },
        JSONField("uploaded", "The images that were uploaded, or with --dry-run would be, and their bytes.") {
            $0.result.uploaded.entries
        },
        JSONField("bytes", nil) { $0.result.uploaded.bytes },
        JSONField("present", "The number of images that the remote has already.") { $0.result.present },
        JSONField(
            "skipped",
            "The number of images that are not shared: of no server, of a user, expired without a validator, or by their response."
        ) { $0.result.skipped },
        JSONField("failed", "The number of images that the remote refused, or that could not be sent.") {
            $0.result.failed
        },
        JSONField("not_tried", "The number of images that were not tried: a signal came, or the remote takes none now.")
        {
            $0.result.notTried
        },
        JSONField("not_cached", "With --keep-list or --lock, the number of its images that the cache lacks; else null.")
        {
            $0.notCached
        },
    ]
}
