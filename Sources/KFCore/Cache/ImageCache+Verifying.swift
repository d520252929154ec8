import Glibc
import KFStorage

extension ImageCache {
    /// Checks everything on the disk: the index against itself, and every file against the index. Others may go on using
    /// the cache. `report` is told each finding, on a thread of the cache's own. Nil when there is no cache yet.
    ///
    /// With `repairs`, broken entries and orphan files are removed and counts are corrected. An index that SQLite
    /// finds fault with is set aside, and a new one built from the entries that can be read.
    public func verify(
        repairs: Bool = false, report: @escaping @Sendable (CacheFinding) -> Void = { _ in }
    ) async throws(KingfisherError) -> Verification? {
        try await blocking.run { [self] () throws(KingfisherError) -> Verification? in
            guard var configuration = storageConfiguration else { return nil }
            configuration.readOnly = !repairs
            configuration.access = .existing
            do throws(StorageError) {
                return try Self.verify(configuration, repairs: repairs, report)
            } catch .corruptIndex(let path, let detail) {
                return try rebuild(configuration, path, detail, repairs: repairs, report)
            } catch .system(_, _, ENOENT) {
                return nil
            } catch {
                throw repairs ? KingfisherError(writing: error) : KingfisherError(opening: error)
            }
        }
    }

    /// A storage of its own: what goes on meanwhile does not wait for it.
    private static func verify(
        _ configuration: DiskStorage.Configuration, repairs: Bool, _ report: @escaping (CacheFinding) -> Void
    ) throws(StorageError) -> Verification {
        if repairs {
            // Opening for writing would mend a broken index without a word in the report.
            var reading = configuration
            reading.readOnly = true
            _ = try DiskStorage(reading)
        }
        let storage = try DiskStorage(configuration)
        defer { storage.close() }
        return try storage.verify(repairs: repairs, report: report)
    }

    /// An index that cannot be repaired in place. With `repairs` it is rebuilt, and the new one verified.
    private func rebuild(
        _ configuration: DiskStorage.Configuration, _ path: String, _ detail: String, repairs: Bool,
        _ report: @escaping (CacheFinding) -> Void
    ) throws(KingfisherError) -> Verification {
        var result = Verification()
        var finding = CacheFinding(.damagedIndex, path: path, detail)
        if repairs {
            // Replacing an index waits until no process has it open.
            forgetStorage()
            do throws(StorageError) {
                try DiskStorage.rebuild(configuration)
                finding.isRepaired = true
                report(finding)
                result = try Self.verify(configuration, repairs: true, report)
            } catch {
                throw KingfisherError(writing: error)
            }
        } else {
            report(finding)
        }
        result.add(finding)
        return result
    }
}
