import Glibc

extension CacheDirectory {
    /// Removes interrupted bodies that nobody will resume: those older than a day, and with `keeping` bytes, the oldest
    /// until the rest takes no more. What another process writes to stays. Gives back the bytes that are left.
    @discardableResult
    func reapPartials(now: Timestamp, keeping limit: Int64 = .max) -> Int64 {
        var bodies: [(name: String, modified: Int64, size: Int64)] = []
        for file in FileListing.names(in: "partial", of: version.raw) {
            let name = "partial/\(file)"
            var status = stat()
            guard fstatat(version.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
            let age = status.age(at: now)
            if file.hasSuffix(".facts") {
                // Their body may be about to be made.
                let body = String(name.dropLast(".facts".count))
                let isAlone = faccessat(version.raw, body, F_OK, AT_SYMLINK_NOFOLLOW) != 0
                if isAlone, age > Self.temporaryLifetime { unlink(name) }
            } else if !status.isRegularFile || age > PartialBody.lifetime {
                if !removePartial(name) { bodies.append((name, .max, Int64(status.st_size))) }
            } else {
                bodies.append((name, status.modified, Int64(status.st_size)))
            }
        }
        var left = bodies.reduce(0) { $0 + $1.size }
        for body in bodies.sorted(by: { $0.modified < $1.modified }) where left > limit {
            if removePartial(body.name) { left -= body.size }
        }
        return left
    }

    /// False while somebody writes to it.
    private func removePartial(_ name: String) -> Bool {
        let isFree = Result { () throws(StorageError) in
            let file = try open(name, O_RDWR | O_NONBLOCK)
            guard try file.status().isRegularFile else { return true }
            return try FileLock.tryAcquire(.exclusive, byte: 0, of: file)
        }
        // What cannot be opened is nobody's: a link, a directory, a socket.
        if case .success(false) = isFree { return false }
        PartialBody.removeFiles(name, in: self)
        return true
    }

    /// Whether the file at this place is the open one.
    func isFile(_ file: borrowing FileDescriptor, at name: String) -> Bool {
        var placed = stat()
        var own = stat()
        return fstatat(version.raw, name, &placed, AT_SYMLINK_NOFOLLOW) == 0 && fstat(file.raw, &own) == 0
            && placed.st_ino == own.st_ino && placed.st_dev == own.st_dev
    }

    /// Removes a file or an empty directory; what is gone already is fine.
    func unlink(_ name: String) {
        if unlinkat(version.raw, name, 0) == -1, errno == EISDIR { unlinkat(version.raw, name, AT_REMOVEDIR) }
    }

    /// Writes a small file aside and moves it into place.
    func replace(_ name: String, _ text: String) throws(StorageError) {
        let temporary = try openTemporary(mode: 0o600)
        do {
            try temporary.file.write(text)
            try retry("rename", path(name)) { renameat(version.raw, temporary.name, version.raw, name) }
        } catch {
            unlink(temporary.name)
            throw error
        }
    }
}
