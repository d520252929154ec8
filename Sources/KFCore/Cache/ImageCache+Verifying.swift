import Glibc
import KFStorage

extension ImageCache {
    /// Checks everything on the disk: the index against itself, and every file against the index. Others may go on using
    /// the cache. `report` is told each finding, on a thread of the cache's own. Nil when there is no cache yet.
    ///
    /// With `repairs`, broken entries and files that nobody uses are removed and counts corrected; an index that SQLite
    /// cannot read is set aside, with all that it knew.
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
                return try setAside(configuration, path, detail, repairs: repairs, report)
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

    private func setAside(
        _ configuration: DiskStorage.Configuration, _ path: String, _ detail: String, repairs: Bool,
        _ report: (CacheFinding) -> Void
    ) throws(KingfisherError) -> Verification {
        var finding = CacheFinding(.damagedIndex, path: path, detail)
        if repairs {
            // Whoever sets an index aside waits for all who have it open.
            forgetStorage()
            do {
                try DiskStorage.repair(configuration)
                // Who can only read needs an index to read.
                _ = try DiskStorage(configuration)
            } catch {
                throw KingfisherError(writing: error)
            }
            finding.isRepaired = true
        }
        var result = Verification()
        result.add(finding)
        report(finding)
        return result
    }
}
