import Glibc
import KFSystem

/// The writing of images: preparing the bytes, then storing them in arrays.
extension DiskStorage {
    /// Creates a file to write an object into. Without `hashes`, all its bytes must be written at once, with their hash.
    package func stage(hashes: Bool = true) throws(StorageError) -> StagedObject {
        try remaking { () throws(StorageError) in
            let session = session
            let directory = session.directory
            guard !session.isReadOnly else { throw .readOnly(path: directory.root) }
            return try directory.restoring { () throws(StorageError) in try StagedObject(directory, hashes: hashes) }
        }
    }

    /// Creates a staged file with these bytes. `digest` is their hash, if it is known.
    package func stage(_ bytes: [UInt8], _ digest: Digest? = nil) throws(StorageError) -> StagedObject {
        let staged = try stage(hashes: false)
        try staged.write(
            all: bytes, digest ?? bytes.withUnsafeBytes(SHA256.hash), synchronize: configuration.synchronizes)
        return staged
    }

    /// Prepares bytes to be stored under a key. `digest` is their hash, if it is known. Blocks.
    ///
    /// They are written to `tmp` unless an object has their hash and their length. The store then only links it, and
    /// writes the bytes if the object is not whole. On a full disk, a cache above its limit evicts first.
    package func prepare(
        _ bytes: [UInt8], _ digest: Digest?, _ key: EntryKey, _ facts: consuming EntryFacts
    ) throws(StorageError) -> Store {
        let digest = digest ?? bytes.withUnsafeBytes(SHA256.hash)
        let object = StoredObject(
            digest: digest, fileExtension: ObjectExtension(naming: facts.fileExtension), size: Int64(bytes.count),
            modified: 0)
        let session = session
        if !session.isReadOnly, !facts.rewrites, session.directory.objects.isThere(object) {
            return .put(Store.Put(bytes: bytes, digest, object.size, key, facts))
        }
        let evictions = evictionCount
        let staged: StagedObject
        do throws(StorageError) {
            staged = try stage(bytes, digest)
        } catch let error where error.isDiskFull {
            guard try makeRoom(since: evictions) else { throw error }
            staged = try stage(bytes, digest)
        }
        return .put(Store.Put(staged: staged, digest, object.size, key, facts))
    }

    /// Prepares a finished file to be stored under a key. Waits until a body that was written in parts is on the disk,
    /// if `synchronizes` is set. Blocks.
    package func prepare(
        _ staged: StagedObject, _ key: EntryKey, _ facts: consuming EntryFacts
    ) throws(StorageError) -> Store {
        if configuration.synchronizes { try staged.synchronize() }
        return .put(Store.Put(staged, key, facts))
    }

    /// Carries out stores. Each group (an image and its variants) is one transaction, in its order: `groups` has the
    /// places of theirs, one after the other, and without it each store is a group. A failed store undoes only itself.
    ///
    /// `urgent` commits at once; otherwise the commit may wait up to 20 ms, or for 256 rows. `then` is called once, when
    /// every store is committed or has failed, with an outcome for each in its place. It runs on the writer's thread, on
    /// a worker thread after a repair or an eviction, or on the caller's thread when there is nothing to commit.
    ///
    /// Three failures are repaired once, and the stores that failed because of them are tried again: a damaged index is
    /// rebuilt, a directory that was deleted from outside is recreated, and on a full disk a cache above its limit
    /// evicts. A cache that exceeds its limit after the commit evicts before `then`.
    package func store(
        _ stores: [Store], groups: [Range<Int>]? = nil, urgent: Bool,
        then: @escaping @Sendable ([Store.Outcome]) -> Void
    ) {
        let limit = sizeLimit
        var refused: [Store.Outcome?]?
        if limit > 0, stores.contains(where: { ($0.size ?? 0) > limit }) {
            refused = stores.map { store in
                guard let size = store.size, size > limit else { return nil }
                return .failure(.objectTooLarge(size: size, limit: limit))
            }
        }
        let groups = groups ?? stores.indices.map { $0..<$0 + 1 }
        run(stores, groups, refused, urgent ? .none : .many, Repairs(evictions: evictionCount)) { outcomes in
            // What is not in its object's place leaves no file: bodies that were linked to an object, or not stored. The
            // process may end before their last reference goes.
            for store in stores { store.staged?.abandon() }
            then(outcomes)
        }
    }

    /// A failure that a repair may mend.
    private enum Failure: CaseIterable {
        case index, directory, room

        init?(_ outcome: Store.Outcome, of store: Store) {
            switch outcome {
            case .failure(.corruptIndex): self = .index
            case .failure(.system(_, _, ENOENT)) where store.size != nil: self = .directory
            case .failure(let error) where error.isDiskFull: self = .room
            case .success, .failure: return nil
            }
        }
    }

    /// The repairs that are still allowed before stores are tried again.
    private struct Repairs {
        var allowed = Set(Failure.allCases)
        /// The number of evictions before the stores.
        let evictions: Int
    }

    private func run(
        _ stores: [Store], _ groups: [Range<Int>], _ known: [Store.Outcome?]?, _ company: Company, _ repairs: Repairs,
        _ then: @escaping Submission.Completion
    ) {
        if groups.isEmpty { return then([]) }
        let (writer, number) = writerAndIndex
        let submission = Submission(stores, groups: groups, known: known, at: now()) { [self] outcomes in
            own.withLock { own in
                for case .success(let entry?) in outcomes { own.store(entry) }
            }
            for case (let store, .success(let entry?)) in zip(stores, outcomes) where store.isOfLocalSource {
                noteResult(entry)
            }
            let failures = Set(zip(stores, outcomes).compactMap { Failure($1, of: $0) }).intersection(repairs.allowed)
            guard !failures.isEmpty || isOverLimit else { return then(outcomes) }
            // Repairs and evictions wait for other processes and for the writer, and this is the writer's thread.
            Self.repairs.submit { [self] in
                // A failure is reported later: the next store finds the cache over its limit again.
                if isOverLimit { bestEffort { try evictIfNeeded() } }
                if failures.isEmpty { return then(outcomes) }
                repair(failures, stores, groups, outcomes, index: number, repairs, then)
            }
        }
        writer.submit(submission, company)
    }

    private static let repairs = WorkerPool(label: "kf.index.repair", width: 2)

    /// Repairs what failed, and tries the stores again that failed because of it. `index` is the number of the index.
    private func repair(
        _ failures: Set<Failure>, _ stores: [Store], _ groups: [Range<Int>], _ before: [Store.Outcome], index: UInt,
        _ repairs: Repairs, _ then: @escaping Submission.Completion
    ) {
        var mended: [Failure: Result<Bool, StorageError>] = [:]
        for failure in Failure.allCases where failures.contains(failure) {
            mended[failure] = Result { () throws(StorageError) in
                switch failure {
                case .index: return try heal(index: index)
                case .directory:
                    _ = try remake()
                    return true
                case .room:
                    // An eviction that fails leaves the disk full.
                    return bestEffort { try makeRoom(since: repairs.evictions) } ?? false
                }
            }
        }
        let known = zip(stores, before).map { store, outcome -> Store.Outcome? in
            switch Failure(outcome, of: store).flatMap({ mended[$0] }) {
            case .success(true): nil
            case .success(false), nil: outcome
            case .failure(let error): .failure(error)
            }
        }
        guard known.contains(where: { $0 == nil }) else { return then(known.map { $0! }) }
        var next = repairs
        next.allowed.subtract(failures)
        // A rebuilt index may be in a directory that was deleted meanwhile.
        if failures.contains(.index) { next.allowed.insert(.directory) }
        run(stores, groups, known, .none, next, then)
    }

    /// Removes the files in `tmp` that dead processes left.
    package func reapTemporaries() {
        if !isReadOnly { session.reapTemporaries() }
    }

    /// Removes this process's files in `tmp`. An object that is being written can no longer be published.
    package func discardTemporaries() {
        guard !isReadOnly else { return }
        session.directory.removeOwnTemporaries()
    }

    /// Whether the last store exceeded the limit, so that `evictIfNeeded` is due.
    var isOverLimit: Bool {
        let partial = session.directory.partialBytes.load(ordering: .relaxed)
        let size = writer.storedSize.load(ordering: .relaxed).adding(saturating: max(0, partial))
        return sizeLimit > 0 && size > sizeLimit
    }

    /// Closes the cache: commits what is queued, and writes access times and counts unless another process is writing.
    package func close() {
        if session.isReadOnly { return }
        // Every process that opens the index pays for a long log. A checkpoint of a short one costs this process more
        // than that.
        writer.flush(truncating: session.directory.logSize > Self.longLog)
        let log = reads.withLock { log in
            let taken = log
            log = ReadLog()
            return taken
        }
        guard !log.isEmpty, let lock = session.lock else { return }
        // Counts are lower bounds. They are dropped rather than waited for, because a hit must cost no more than
        // reading.
        bestEffort {
            guard try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.write) else { return }
            defer { lock.release(byte: IndexSession.LockByte.write) }
            try log.counts.add(to: lock)
            guard !log.touches.isEmpty else { return }
            try read { connection throws(StorageError) in try connection.write(log.touches) }
        }
    }

    /// The log size from which closing runs a checkpoint, in bytes. Each process that opens the index hashes the log:
    /// one of 1 MB makes a hit of a whole process 1.5 times as long.
    private static let longLog: Int64 = 1 << 17
}
