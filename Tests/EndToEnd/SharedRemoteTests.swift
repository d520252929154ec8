import Foundation
import Support
import Testing

extension EndToEnd {
    /// The recipe of the article, by users with nothing in common but a group.
    @Suite("Remotes of several users", .enabled(if: geteuid() == 0, "only root can be other users"))
    struct SharedRemoteTests {
        private static let group = 4100
        private let root = try? TemporaryDirectory()
        private let origin: FaultServer

        init() throws {
            let image = try FixturesDirectory.bytes("png/rgb.png")
            origin = try FaultServer { _ in [.reply(body: image)] }
        }

        /// The directory of the remote. Its group is that of the users, and `mode` its mode.
        private func directory(_ mode: mode_t = 0o2775) throws -> String {
            let root = try #require(root)
            let path = root.path("shared").path
            #expect(chmod(root.url.path, 0o755) == 0 && mkdir(path, 0o700) == 0)
            #expect(chown(path, 4001, gid_t(Self.group)) == 0 && chmod(path, mode) == 0)
            return path
        }

        /// Fetches an image as a user with an empty cache.
        private func fetch(
            _ image: String, from directory: String, as user: Int, umask: String = "002", _ options: String...
        ) async throws -> (item: ItemReport, errors: String) {
            let kf = try KFCommand().openToAll()
            let arguments = ["fetch", "--json", origin.url(image), "--remote", "file://\(directory)"] + options
            let result = try await kf.run(
                arguments, under: "setpriv", "--reuid", "\(user)", "--regid", "\(user)", "--groups", "\(Self.group)",
                "sh", "-c", "umask \(umask); exec \"$@\"", "sh")
            #expect(result.status == 0, "\(result)")
            return (try #require(try result.items().first, "\(result)"), result.errors)
        }

        @Test("Two users write to and read from one directory")
        func recipe() async throws {
            let shared = try directory()
            for (image, writer, reader) in [("/a", 4001, 4002), ("/b", 4002, 4001)] {
                let written = try await fetch(image, from: shared, as: writer, "--remote-write")
                let read = try await fetch(image, from: shared, as: reader)
                let renewed = try await fetch(
                    image, from: shared, as: reader, "--remote-write", "--force-refresh")
                #expect(
                    (written.item.status, read.item.status, renewed.item.status) == ("fetched", "remote", "fetched"))
                #expect(written.errors + read.errors + renewed.errors == "")
            }
            #expect(origin.requests.count == 4)
        }

        @Test("A umask that shuts the group out is named with the cure", arguments: ["022", "077"])
        func umask(value: String) async throws {
            let shared = try directory()
            let written = try await fetch("/a", from: shared, as: 4001, umask: value, "--remote-write")
            #expect(
                written.errors.contains(
                    value == "022" ? "cannot write to \(shared)/kf1/" : "cannot read \(shared)/kf1/"))
            let cure = try #require(written.errors.firstMatch(of: /umask 002.*(chmod -R g\+rwX .*kf1')/))
            let refused = try await fetch("/b", from: shared, as: 4002, "--remote-write")
            #expect(
                refused.errors.contains("Permission denied") && refused.errors.contains(cure.1), "\(refused.errors)")
            let owner = ["--reuid", "4001", "--regid", "4001", "--groups", "\(Self.group)", "sh", "-c", "\(cure.1)"]
            #expect(try await Tool.run("setpriv", owner).status == 0)
            let cured = try await fetch("/b", from: shared, as: 4002, "--remote-write")
            #expect(cured.errors == "" && cured.item.status == "fetched")
            #expect(try await fetch("/b", from: shared, as: 4001).item.status == "remote")
        }

        @Test("An unreadable file is a miss, and the next writer replaces it", arguments: ["ac", "cas"])
        func unreadable(branch: String) async throws {
            let shared = try directory()
            _ = try await fetch("/a", from: shared, as: 4001, "--remote-write")
            let find = ["\(shared)/kf1/\(branch)", "-type", "f", "-exec", "chmod", "go=", "{}", "+"]
            #expect(try await Tool.run("find", find).status == 0)
            let read = try await fetch("/a", from: shared, as: 4002)
            #expect(read.item.status == "fetched" && read.errors.contains("Permission denied"), "\(read.errors)")
            #expect(read.errors.contains("umask 002"), "\(read.errors)")
            _ = try await fetch("/a", from: shared, as: 4002, "--remote-write")
            #expect(try await fetch("/a", from: shared, as: 4001).item.status == "remote")
        }

        @Test("A directory that its group cannot write to is named with the cure")
        func closed() async throws {
            let shared = try directory(0o2755)
            let refused = try await fetch("/a", from: shared, as: 4002, "--remote-write")
            #expect(refused.errors.contains("chmod g+w '\(shared)'"), "\(refused.errors)")
            let owner = try await fetch("/a", from: shared, as: 4001, umask: "022", "--remote-write")
            #expect(owner.errors == "", "the group reads, as it is meant to")
            #expect(try await fetch("/a", from: shared, as: 4002).item.status == "remote")
        }
    }
}
