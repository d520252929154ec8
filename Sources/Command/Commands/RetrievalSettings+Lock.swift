import KFCore

/// The lock that the images must match.
extension RetrievalSettings {
    /// The lock of `--lock`; nil without the option.
    static func lock(
        _ arguments: ParsedArguments, _ request: RequestOptions, pulls: Bool
    ) throws(UsageError) -> LockedRun? {
        guard let path = try arguments[Options.lock] else {
            try arguments.refuse(
                [Options.frozen.spec, Options.updateLock.spec, Options.pruneLock.spec], without: "--lock")
            return nil
        }
        let (isFrozen, updates) = (try arguments[Options.frozen], try arguments[Options.updateLock])
        let prunes = try arguments[Options.pruneLock]
        if updates, pulls {
            throw UsageError(message: "--update-lock takes what the origins serve, and 'kf cache pull' asks none")
        }
        do throws(KingfisherError) {
            return try LockedRun(
                path: path, mode: isFrozen ? .frozen : updates ? .updating : .adding,
                prunes: prunes, request: request)
        } catch {
            throw UsageError(message: "--lock: \(error.message)")
        }
    }

    /// Writes the lock, and says what it says of the run. A run that had nothing to do and was to prune is a mistake.
    func finishLock(_ common: CommonSettings, hadItems: Bool, isWhole: Bool) -> ExitStatus {
        guard let lock else { return .success }
        var status = ExitStatus.success
        do throws(KingfisherError) {
            for conflict in try lock.finish(isWhole: isWhole) {
                common.report(conflict.error, for: conflict.url)
                status.raise(to: .someFailed)
            }
        } catch {
            common.report(error, for: "--lock")
            return .cacheFailed
        }
        if let obstacle = lock.pruningObstacle {
            Terminal.printFailure("kf: --prune-lock: nothing is dropped: \(obstacle)")
            status.raise(to: hadItems ? .cacheFailed : .usage)
        }
        let counts = lock.counts
        if !common.quiet, !common.json {
            let replacements = lock.replacements
            for one in replacements.prefix(common.verbose ? .max : 10) {
                Terminal.printError("kf: \(Terminal.visible(one.url)): \(one.old) is now \(one.new)")
            }
            // An update may meet an image that is another one than that of an earlier item.
            let refused = counts.changed - replacements.count
            var parts = ["\(counts.new) new"]
            if lock.mode == .updating { parts.append("\(replacements.count) replaced") }
            if lock.mode != .updating || refused > 0 { parts.append("\(refused) changed") }
            parts.append("\(counts.asLocked) as locked")
            parts += EntryText.counts(
                (counts.pruned, "dropped"), (counts.notLocked, "not locked (alternative or stale)"))
            Terminal.printError("kf: \(lock.path): \(parts.joined(separator: ", "))")
        }
        return status
    }

    static let lockFields: [JSONField<LockedRun>] = [
        JSONField("new", nil) { $0.counts.new }, JSONField("changed", nil) { $0.counts.changed },
        JSONField("as_locked", nil) { $0.counts.asLocked }, JSONField("dropped", nil) { $0.counts.pruned },
        JSONField.ifPresent("not_locked", nil) { $0.counts.notLocked == 0 ? nil : $0.counts.notLocked },
        JSONField.ifPresent("replaced", nil) { run in
            run.mode == .updating ? run.replacements.map { JSONObject(part: $0, replacementFields) } : nil
        },
    ]

    private static let replacementFields: [JSONField<LockedRun.Replacement>] = [
        JSONField("url", nil) { $0.url }, JSONField("old", nil) { $0.old.description },
        JSONField("new", nil) { $0.new.description },
    ]
}
