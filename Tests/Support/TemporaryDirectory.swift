import Foundation
import Synchronization

/// A directory of its own for one test, removed with all that is in it when the last reference goes.
package final class TemporaryDirectory: Sendable {
    package enum Place: Sendable {
        /// Memory, where there is enough: to commit to a disk takes most of the time of tests that store.
        case memory
        /// `$TMPDIR`, for tests whose subject is the file system.
        case disk

        fileprivate var path: String { self == .memory ? Self.memoryPath : Self.diskPath }

        private static let diskPath = own(in: NSTemporaryDirectory())

        private static let memoryPath: String = {
            let path = "/dev/shm"
            var status = statvfs()
            let isLarge = statvfs(path, &status) == 0 && status.f_bavail * status.f_frsize >= 1 << 30
            return isLarge && access(path, W_OK) == 0 ? own(in: path) : diskPath
        }()

        private static let made = Mutex<[String]>([])

        /// A directory of this process, removed with its end: some tests end before the last task that holds a
        /// temporary directory. Removes those of processes that were killed.
        private static func own(in folder: String) -> String {
            let prefix = "kf-tests-"
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                guard name.hasPrefix(prefix), let process = pid_t(name.dropFirst(prefix.count)),
                    kill(process, 0) == -1, errno == ESRCH
                else { continue }
                _ = try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
            let path = "\(folder)/\(prefix)\(getpid())"
            mkdir(path, 0o755)
            let isFirst = made.withLock { made in
                made.append(path)
                return made.count == 1
            }
            if isFirst {
                atexit {
                    for path in Place.made.withLock({ $0 }) { _ = try? FileManager.default.removeItem(atPath: path) }
                }
            }
            return path
        }
    }

    package let url: URL

    package init(in place: Place = .memory) throws {
        var template = Array((place.path + "/kf-test-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
    }

    deinit {
        do {
            try FileManager.default.removeItem(at: url)
        } catch {
            FileHandle.standardError.write(Data("could not remove \(url.path): \(error)\n".utf8))
        }
    }

    /// A path inside. Nothing is created.
    package func path(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// Writes a file, with the directories on the way to it.
    @discardableResult
    package func write(_ name: String, _ data: Data) throws -> URL {
        let file = path(name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file)
        return file
    }

    @discardableResult
    package func write(_ name: String, _ text: String) throws -> URL { try write(name, Data(text.utf8)) }

    /// The relative paths of all regular files inside, sorted.
    package func files() -> [String] { Self.files(in: url) }

    /// The relative paths of all regular files in any directory, sorted; none when there is no such directory.
    package static func files(in directory: URL) -> [String] {
        guard let names = FileManager.default.enumerator(atPath: directory.path) else { return [] }
        return names.compactMap { $0 as? String }.filter { name in
            var status = stat()
            let path = directory.appendingPathComponent(name).path
            return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }.sorted()
    }
}
