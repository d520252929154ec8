import Glibc
import KFSystem

extension DiskStorage {
    /// Carries out orders. Each group (an image and its variants) is one transaction, in its order. A failed order
    /// undoes only itself.
    ///
    /// `urgent` commits at once; otherwise the commit may wait up to 20 ms, or for 256 rows. `completion` is called
    /// once, when every order is committed or has failed, with an outcome for each. It runs on the writer's thread, on
    /// a worker thread after a repair, or on the caller's thread when there is nothing to commit.
    ///
    /// A directory that was deleted from outside is recreated once, and a damaged index is rebuilt. The orders that
    /// failed because of either are tried again.
    package func submit(
        _ groups: [[IndexOrder]], urgent: Bool, completion: @escaping @Sendable ([[IndexOrder.Outcome]]) -> Void
    ) {
        submit(groups, urgent ? .none : .many, completion: completion)
    }

    func submit(_ groups: [[IndexOrder]], _ company: Company, completion: @escaping OrderSubmission.Completion) {
        let limit = sizeLimit
        let excess = { (order: IndexOrder) -> Int64? in
            guard limit > 0, let size = order.size, size > limit else { return nil }
            return size
        }
        guard limit > 0, groups.contains(where: { $0.contains { excess($0) != nil } }) else {
            return run(groups, company, Repairs(), completion)
        }
        let refused = groups.map { group in
            group.map { IndexOrder.Outcome.failure(.objectTooLarge(size: excess($0) ?? 0, limit: limit)) }
        }
        let rest = OrderSelection(groups) { excess(groups[$0][$1]) == nil }
        run(rest.orders, company, Repairs()) { done in
            var outcomes = refused
            rest.put(done, into: &outcomes)
            completion(outcomes)
        }
    }

    /// The repairs that are still allowed before orders are tried again.
    private struct Repairs {
        var mayHeal = true
        var mayRemake = true
    }

    private func run(
        _ groups: [[IndexOrder]], _ company: Company, _ allowed: Repairs,
        _ completion: @escaping OrderSubmission.Completion
    ) {
        if groups.isEmpty { return completion([]) }
        let (writer, number) = writerAndIndex
        let submission = OrderSubmission(groups, at: now()) { [self] outcomes in
            Self.dropLinked(groups, outcomes)
            let failures = Self.failures(groups, outcomes)
            let heals = failures.ofIndex && allowed.mayHeal
            let remakes = failures.ofFiles && (allowed.mayRemake || heals)
            guard heals || remakes else { return completion(outcomes) }
            // A repair waits for other processes and for the writer, and this is the writer's thread.
            Self.repairs.submit { [self] in
                // A rebuilt index may lack an object that one of the orders has already published.
                let next = Repairs(mayHeal: allowed.mayHeal && !heals, mayRemake: heals)
                repair(groups, outcomes, index: heals ? number : nil, remakes: remakes, next, completion)
            }
        }
        writer.submit(submission, company)
    }

    /// Removes the files of bodies that were linked to an object, not moved to its place.
    private static func dropLinked(_ groups: [[IndexOrder]], _ outcomes: [[IndexOrder.Outcome]]) {
        for (group, results) in zip(groups, outcomes) {
            for case (.store(let staged, _, _), .success) in zip(group, results) { staged.abandon() }
        }
    }

    private static let repairs = WorkerPool(label: "kf.index.repair", width: 2)

    private static func failures(
        _ groups: [[IndexOrder]], _ outcomes: [[IndexOrder.Outcome]]
    ) -> (ofIndex: Bool, ofFiles: Bool) {
        var found = (ofIndex: false, ofFiles: false)
        for (group, results) in zip(groups, outcomes) {
            for (order, outcome) in zip(group, results) {
                guard case .failure(let error) = outcome else { continue }
                if error.isOfIndex { found.ofIndex = true }
                if error.isOfMissingFile, order.size != nil { found.ofFiles = true }
            }
        }
        return found
    }

    /// Repairs the index and the directory, and tries the orders again that failed because of them. `index` is the
    /// number of the damaged index.
    private func repair(
        _ groups: [[IndexOrder]], _ before: [[IndexOrder.Outcome]], index: UInt?, remakes: Bool, _ next: Repairs,
        _ completion: @escaping OrderSubmission.Completion
    ) {
        let healed = Result { () throws(StorageError) in
            guard let index else { return false }
            return try heal(index: index)
        }
        let remade = Result { () throws(StorageError) in remakes ? try remake() : false }
        var (again, outcomes) = (groups, before)
        var chosen = groups.map { [Bool](repeating: false, count: $0.count) }
        for group in groups.indices {
            for order in groups[group].indices {
                guard case .failure(let error) = before[group][order] else { continue }
                do throws(StorageError) {
                    if error.isOfIndex, index != nil {
                        chosen[group][order] = try healed.get()
                    } else if error.isOfMissingFile, remakes, again[group][order].size != nil {
                        _ = try remade.get()
                        if case .store(let staged, let key, let facts) = again[group][order] {
                            // The file was deleted with the directory, or stored under another key and evicted. Its
                            // bytes are still readable through the open descriptor.
                            again[group][order] = .store(try stage(copy: staged), key, facts)
                        }
                        chosen[group][order] = true
                    }
                } catch {
                    outcomes[group][order] = .failure(error)
                }
            }
        }
        let rest = OrderSelection(again) { chosen[$0][$1] }
        run(rest.orders, .none, next) { [outcomes] done in
            var outcomes = outcomes
            rest.put(done, into: &outcomes)
            completion(outcomes)
        }
    }

    private func stage(copy staged: StagedObject) throws(StorageError) -> StagedObject {
        let bytes = try staged.loadWritten()
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(StorageError) in try stage(bytes) } }
        return try result.get()
    }
}

extension StorageError {
    fileprivate var isOfIndex: Bool {
        if case .corruptIndex = self { return true }
        return false
    }

    fileprivate var isOfMissingFile: Bool {
        if case .system(_, _, ENOENT) = self { return true }
        return false
    }
}
