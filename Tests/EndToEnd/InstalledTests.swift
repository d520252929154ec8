import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("The installed binary")
    struct InstalledTests {
        /// The libraries that a program needs and where they are, by ldd.
        private func libraries(_ program: String) async throws -> [String] {
            let result = try await Tool.run("ldd", program)
            return result.output.split(whereSeparator: \.isWhitespace).map(String.init).filter { $0.hasPrefix("/") }
        }

        @Test("The binary runs in a root with its libraries alone", .enabled(if: geteuid() == 0))
        func alone() async throws {
            let kf = try KFCommand()
            let root = kf.home.path("root")
            let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
            let curl: String? = folders.map { folder in "\(folder)/libcurl.so.4" }
                .first { FileManager.default.isReadableFile(atPath: $0) }
            let found = try #require(curl, "no libcurl.so.4 where distributions have it")
            var files = [kf.binary.path, found]
            for program in files { files += try await libraries(program) }
            for file in Set(files) {
                let name = file == kf.binary.path ? "/usr/bin/kf" : file
                try kf.home.write("root" + name, Data(contentsOf: URL(fileURLWithPath: file)))
            }
            try kf.home.write("root/a.png", FixturesDirectory.named("png/rgb.png").data)
            for folder in ["dev", "tmp", "lib64", "proc"] {
                try FileManager.default.createDirectory(
                    at: root.appending(path: folder), withIntermediateDirectories: true)
            }
            let server = try FileServer()
            // Dispatch looks at its threads in /proc, and ends the process where there is none.
            let script = """
                chmod 755 "$1/usr/bin/kf"; chmod -R +x "$1/usr/lib" "$1/lib"* 2>/dev/null
                mknod -m 666 "$1/dev/null" c 1 3
                mount -t proc proc "$1/proc"
                chroot "$1" /usr/bin/kf fetch /a.png -p resize:20x20 -o /b.png &&
                chroot "$1" /usr/bin/kf fetch "$2" -o /c.png && cmp "$1/a.png" "$1/c.png"
                """
            let result = try await RunningCommand(
                "/usr/bin/unshare", ["-m", "/bin/bash", "-c", script, "bash", root.path, server.url("png/rgb.png")],
                environment: kf.environment.merging(["KF_CACHE_DIR": "/cache"]) { $1 }
            ).wait()
            #expect(result.status == 0 && result.errors == "", "\(result)")
            let made = try await kf.run("fetch", "--json", root.appending(path: "b.png").path).item()
            #expect(made.width == 20 && made.height == 20)
        }

        @Test(
            "The binary is linked with libraries of libc alone",
            .enabled("not the release binary") { ProcessInfo.processInfo.environment["KF_BINARY"] != nil })
        func needed() async throws {
            let result = try await Tool.run("readelf", "-d", KFCommand().binary.path)
            let names = result.output.matches(of: /NEEDED.*\[(.*)\]/).map { String($0.1) }
            #expect(!names.isEmpty)
            #expect(!result.output.contains("RPATH") && !result.output.contains("RUNPATH"), "\(result.output)")
            for name in names {
                #expect(name.contains(/^(libc|libm|libstdc\+\+|ld-linux.*)\.so/), "\(name)")
            }
        }
    }
}
