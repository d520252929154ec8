import Glibc

extension CacheDirectory {
    /// Removes partial bodies that will not be resumed: those older than a day, and with `keeping` bytes, the oldest
    /// until the rest takes no more; with 0, all. What another process writes to stays. Says what is left, which becomes
    /// `partialBytes`, and what went. With `dryRun`, only says what would go.
    @discardableResult
    func reapPartials(
        now: Timestamp, keeping limit: Int64 = .max, dryRun: Bool = false
    ) -> (left: PartialSum, removed: PartialSum) {
        var bodies: [(name: String, modified: Int64, size: Int64)] = []
        var (left, removed) = (PartialSum(), PartialSum())
        for file in names(in: "partial") {
            let name = "partial/\(file)"
            guard let status = status(of: name) else { continue }
            let size = status.isRegularFile ? Int64(status.st_size) : 0
            if file.hasSuffix(".facts") {
                reapRecord(name, age: limit == 0 ? .max : status.age(at: now), dryRun: dryRun)
            } else if !status.isRegularFile || status.age(at: now) > PartialBody.lifetime || limit == 0 {
                if removePartial(name, dryRun: dryRun) { removed.add(size) } else { left.add(size) }
            } else {
                bodies.append((name, status.modified, size))
                left.add(size)
            }
        }
        for body in bodies.sorted(by: { $0.modified < $1.modified }) where left.bytes > limit {
            guard removePartial(body.name, dryRun: dryRun) else { continue }
            left.subtract(body.size)
            removed.add(body.size)
        }
        if !dryRun { partialBytes.store(left.bytes, ordering: .relaxed) }
        return (left, removed)
    }

    /// Removes a record without a body, unless its body may be about to be made.
    private func reapRecord(_ name: String, age: Int64, dryRun: Bool) {
        let body = String(name.dropLast(".facts".count))
        if !exists(body), age > Self.temporaryLifetime, !dryRun { unlink(name) }
    }

    /// False while another process, or this one, writes to it.
    private func removePartial(_ name: String, dryRun: Bool) -> Bool {
        let isFree = Result { () throws(StorageError) in
            let file = try openFile(name, O_RDWR)
            return try FileLock.tryAcquire(.exclusive, byte: 0, of: file)
        }
        // What cannot be opened is no body: a link, a directory, a socket.
        if case .success(false) = isFree { return false }
        if !dryRun { PartialBody.removeFiles(name, in: self) }
        return true
    }

    /// What partial bodies take, those that are being written included.
    var partials: PartialSum {
        var sum = PartialSum()
        for file in names(in: "partial") where !file.hasSuffix(".facts") {
            guard let status = status(of: "partial/\(file)"), status.isRegularFile else { continue }
            sum.add(Int64(status.st_size))
        }
        return sum
    }

    /// Whether the file at this place is the open one.
    func isFile(_ file: borrowing FileDescriptor, at name: String) -> Bool {
        var own = stat()
        guard let placed = status(of: name), fstat(file.raw, &own) == 0 else { return false }
        return placed.st_ino == own.st_ino && placed.st_dev == own.st_dev
    }

    /// Writes a small file aside and moves it into place.
    func replace(_ name: String, _ text: String) throws(StorageError) {
        let temporary = try openTemporary(mode: 0o600)
        do {
            try temporary.file.write(text)
            try move(temporary.name, to: name)
        } catch {
            unlink(temporary.name)
            throw error
        }
    }
}
