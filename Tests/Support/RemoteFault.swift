/// Something that a remote does wrong, to some requests.
package struct RemoteFault: Sendable {
    package enum Effect: Sendable {
        /// Answers after the body was read. Nothing is stored.
        case status(Int, headers: [String] = [])
        /// Answers before the body was read, and takes no more requests on that connection.
        case statusAtOnce(Int, headers: [String] = [])
        /// Answers 507 to a PUT that would make the tree larger than this.
        case full(bytes: Int)
        /// Reads the request and never answers.
        case silence
        /// Sends the head and that many bytes of the body, then nothing more.
        case stall(after: Int)
        /// Sends the head and that many bytes of the body, then closes.
        case truncate(after: Int)
        /// Closes without an answer.
        case close
        /// Closes with RST, without an answer.
        case reset
        /// Waits; what follows in the list of faults, or the right answer, comes after that.
        case delay(Duration)
        /// Takes the body at this rate.
        case takeSlowly(bytesPerSecond: Int)
        /// Answers 200 with other bytes, of a right Content-Length.
        case lie(RemoteLie)
        /// Answers 200 with that many zeros.
        case zeros(Int)
    }

    let effect: Effect
    let methods: Set<String>
    package let part: String
    var left: Int

    /// Applies to requests of these methods (to all without one) whose path contains `part`, and to the first `times`.
    package init(_ effect: Effect, to methods: String..., at part: String = "", times: Int = .max) {
        self.effect = effect
        self.methods = Set(methods)
        self.part = part
        left = times
    }

    func applies(to request: FaultRequest) -> Bool {
        left > 0 && (methods.isEmpty || methods.contains(request.method))
            && (part.isEmpty || request.path.contains(part))
    }
}

/// What a remote serves in place of what it stores.
package struct RemoteLie: Sendable {
    let bytes: @Sendable (_ right: [UInt8], _ path: String, _ tree: RemoteTree) -> [UInt8]

    package init(_ bytes: @escaping @Sendable (_ right: [UInt8], _ path: String, _ tree: RemoteTree) -> [UInt8]) {
        self.bytes = bytes
    }

    package static let otherLastByte = RemoteLie { right, _, _ in right.dropLast() + right.suffix(1).map { $0 ^ 1 } }
    package static let longer = RemoteLie { right, _, _ in right + [UInt8](repeating: 0, count: 100) }
    package static let shorter = RemoteLie { right, _, _ in Array(right.dropLast(20)) }
    package static let nothing = RemoteLie { _, _, _ in [] }
    package static let page = text("<!DOCTYPE html><title>Sign in</title>")
    package static let cutJSON = RemoteLie { right, _, _ in Array(right.prefix(right.count / 2)) }

    package static func text(_ text: String) -> RemoteLie { RemoteLie { _, _, _ in Array(text.utf8) } }

    /// An entry whose number of bytes is another.
    package static let otherLength = RemoteLie { right, _, _ in
        let text = String(decoding: right, as: UTF8.self)
        return Array(text.replacing(/"bytes":\s*(\d+)/) { "\"bytes\":\((Int($0.1) ?? 0) + 1)" }.utf8)
    }

    /// The bytes of another file in the same branch of the tree, `/ac/` or `/cas/`.
    package static let another = RemoteLie { right, path, tree in
        let branch = path.contains("/ac/") ? "/ac/" : "/cas/"
        let others = tree.files.keys.filter { $0 != path && $0.contains(branch) }.sorted()
        return others.first.flatMap { tree.files[$0] } ?? right
    }
}
