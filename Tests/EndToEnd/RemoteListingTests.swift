import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Lists of remotes")
    struct RemoteListingTests {
        let kf: KFCommand
        private let origin: FaultServer

        init() throws {
            kf = try KFCommand()
            let image = try FixturesDirectory.bytes("png/rgb.png")
            origin = try FaultServer { request in
                // Equal bytes would be one object.
                [.reply(body: image + Array(request.path.utf8))]
            }
        }

        @Test(
            "The statistics of a remote count its entries and objects", arguments: RemoteCleaningTests.kinds)
        func counts(kind: RemoteKind) async throws {
            guard await RemoteKind.installed.value.contains(kind) else { return }
            let remote = try kind.start()
            let kf = kf.with(remote.environment)
            let list = (0..<5).map { origin.url("/\($0)") }.joined(separator: "\n")
            let arguments = ["prefetch", "-", "--remote", remote.url, "--remote-write"]
            #expect(try await kf.run(arguments, input: Data(list.utf8)).status == 0)
            // Neither another program's files nor what is left of an upload count.
            let base = remote.root.appendingPathComponent("base")
            for path in ["kf1/ac/00/x", "kf1/tmp/kf-upload-0123456789abcdef", "other/ac/00/x"] {
                let file = base.appendingPathComponent(path)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data("x".utf8).write(to: file)
            }
            func sizes(_ branch: String) throws -> [Int] {
                try remote.files(branch).filter { !$0.hasSuffix("/x") }.map {
                    try Data(contentsOf: base.appendingPathComponent("kf1/\(branch)/\($0)")).count
                }
            }
            let result = try await kf.run("cache", "stat", "--remote", remote.url, "--json")
            let object = try #require(try result.objects().first, "\(result)")
            for (branch, number, bytes) in [("ac", "entries", "entry_bytes"), ("cas", "objects", "object_bytes")] {
                let stored = try sizes(branch)
                #expect(object[number] as? Int == 5 && stored.count == 5, "\(result)")
                #expect(object[bytes] as? Int == stored.reduce(0, +), "\(result)")
            }
            let text = try await kf.run("cache", "stat", "--remote", remote.url)
            #expect(text.output.contains(": 5 entries, ") && text.output.contains("; 5 objects, "), "\(text)")
            #expect(text.errors.isEmpty && text.status == 0)
        }

        @Test("A remote that cannot be listed is an error")
        func refusals() async throws {
            for (url, reason) in [
                (origin.url("/base"), "cannot be listed: this server cannot list"),
                ("file://\(kf.home.path("missing").path)", "cannot be listed: "),
            ] {
                let result = try await kf.run("cache", "stat", "--remote", url)
                #expect(result.status == 3 && result.errors.contains(reason), "\(result)")
            }
            #expect(try await kf.run("cache", "stat", "--remote", "ftp://h").status == 2)
            #expect(try await kf.run("cache", "stat", "--remote", origin.url("/"), "--reset").status == 2)
            #expect(origin.requests.map(\.method) == ["PROPFIND"])
            guard await RemoteKind.installed.value.contains(.s3) else { return }
            let remote = try RemoteKind.s3.start()
            let strange = kf.with(remote.environment.merging(["AWS_SECRET_ACCESS_KEY": "wrong"]) { $1 })
            let result = try await strange.run("cache", "stat", "--remote", remote.url)
            #expect(result.status == 3 && result.errors.contains("status 403"), "\(result)")
        }

        @Test("An endless or strange list ends the command")
        func strangeLists() async throws {
            let page = { (end: String) in "<ListBucketResult><Name>b</Name>\(end)</ListBucketResult>" }
            let next = "<NextContinuationToken>a&amp;b</NextContinuationToken>"
            for (body, reason) in [
                (page("<IsTruncated>true</IsTruncated>\(next)"), "has no end"),
                (page("<IsTruncated>true</IsTruncated>"), "no list of S3"), (page("&x;"), "no list of S3"),
                (page("<Contents><Key>base/kf1/ac/00/x</Key></Contents>"), "no list of S3"),
                (page("<Contents><Key>base/kf1/ac/00/x</Key><Size> 7 </Size></Contents>"), "no list of S3"),
                ("<!DOCTYPE a [<!ENTITY x 'y'>]>" + page(""), "no list of S3"), ("<html></html>", "no list of S3"),
                (page("") + page(""), "no list of S3"), ("<ListBucketResult>", "no list of S3"), ("", "no list of S3"),
                (String(repeating: "<a>", count: 100_000), "no list of S3"),
            ] {
                let server = try FaultServer { _ in [.reply(body: Array(body.utf8))] }
                let kf = kf.with(["AWS_ENDPOINT_URL": server.url("")])
                let result = try await kf.run("cache", "stat", "--remote", "s3://bucket/base")
                #expect(result.status == 3 && result.errors.contains(reason), "\(body.prefix(100)): \(result)")
                #expect(server.requests.count <= 3)
            }
        }
    }
}
