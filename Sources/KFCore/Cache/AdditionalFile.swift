import Glibc
import KFImaging
import KFStorage

/// A file that the program names for a key, in place of one that the cache has not.
enum AdditionalFile {
    /// Opens the file at a path if it is an image. Nil is a miss. Blocks.
    static func open(_ path: String, for key: EntryKey, now: Timestamp) -> CachedFile? {
        do throws(StorageError) {
            let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
            let status = try file.status()
            guard status.isRegularFile else { return nil }
            let bytes = try file.readAll(
                expected: Int(clamping: status.st_size), limit: Int(RequestOptions().maxBytes))
            guard let entry = bytes.withUnsafeBytes({ entry(key, $0, status, now) }) else { return nil }
            return CachedFile(file, entry: entry, path: path)
        } catch {
            return nil
        }
    }

    private static func entry(
        _ key: EntryKey, _ bytes: UnsafeRawBufferPointer, _ status: stat, _ now: Timestamp
    ) -> Entry? {
        let inspected = Result { () throws(KingfisherError) in
            try ImageInspector(limits: DecodeLimits(), check: .structure).inspect(bytes)
        }
        guard case .success(let findings) = inspected else { return nil }
        return Entry(
            of: key, fileOf: bytes, modified: status.modified, fileExtension: findings.format.fileExtension,
            pixels: findings.info.map(PixelFacts.init), now: now)
    }
}
