import Glibc

/// The content of one of the folders of `objects`.
struct FolderContents {
    private let storage: DiskStorage
    /// The folder's name: two hexadecimal digits.
    private let folder: String
    private let number: UInt8
    /// Whether another item than a directory is in the folder's place.
    private let isPlanted: Bool
    private let names: Set<String>

    init(_ storage: DiskStorage, _ number: UInt8) throws(StorageError) {
        self.storage = storage
        self.number = number
        folder = ObjectStore.folderName(number)
        do throws(StorageError) {
            names = try storage.session.directory.objects.names(inFolder: number)
            isPlanted = false
        } catch .system(_, _, let code) where [ENOENT, ELOOP, ENOTDIR].contains(code) {
            names = []
            isPlanted = code != ENOENT
        }
    }

    /// The first row of the folder's objects. A row is the first 64 bits of the hash, or one of the next places.
    var firstRow: Int64 { Int64(bitPattern: UInt64(number) << 56) }

    var lastRow: Int64 {
        let last = Int64(bitPattern: UInt64(number) << 56 | 0xff_ffff_ffff_ffff)
        return last > .max - EntryKey.probes ? .max : last + EntryKey.probes
    }

    /// Compares the files with the rows. Returns the suspects, and the rows whose files must be read.
    func compare(with rows: [ObjectRow]) -> (suspects: [Suspect], whole: [ObjectRow]) {
        var suspects: [Suspect] = []
        var whole: [ObjectRow] = []
        var strangers = names
        for row in rows where row.object.digest.prefix >> 56 == UInt64(number) {
            let suspect = Self.suspect(row, storage)
            if suspect?.kind != .brokenRow { strangers.remove(String(row.object.name.dropFirst(3))) }
            if let suspect { suspects.append(suspect) } else { whole.append(row) }
        }
        for name in strangers { suspects += Self.stranger("\(folder)/\(name)", storage).map { [$0] } ?? [] }
        if isPlanted { suspects += Self.stranger(folder, storage).map { [$0] } ?? [] }
        return (suspects, whole)
    }

    /// Checks the status of an object's file without reading it. Returns nil if its bytes must be read.
    static func suspect(_ row: ObjectRow, _ storage: DiskStorage) -> Suspect? {
        let name = row.object.name
        guard row.isInPlace else { return Suspect(.brokenRow, name, row, "no lookup finds the object in its row") }
        guard let file = FileIdentity(name, in: storage) else {
            return Suspect(.missingFile, name, row, "the file is missing")
        }
        if !file.isRegular { return Suspect(.notAFile, name, row, seen: file, "it is \(file.description)") }
        guard file.size != row.object.size else { return nil }
        return Suspect(
            .wrongSize, name, row, seen: file, "it has \(file.size) bytes instead of \(row.object.size)")
    }

    /// Returns the items beside the folders.
    static func strangers(_ storage: DiskStorage) -> [Suspect] {
        storage.session.directory.objects.namesBesideFolders().compactMap { stranger($0, storage) }
    }

    private static func stranger(_ name: String, _ storage: DiskStorage) -> Suspect? {
        guard let file = FileIdentity(name, in: storage) else { return nil }
        return file.isRegular
            ? Suspect(.orphan, name, nil, seen: file, "no entry refers to this file (\(file.size) bytes)")
            : Suspect(.notAFile, name, nil, seen: file, "it is \(file.description)")
    }
}
