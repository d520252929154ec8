import Glibc

/// What lies in one of the folders of `objects`.
struct FolderContents {
    private let storage: DiskStorage
    /// Two hexadecimal digits.
    private let folder: String
    private let number: UInt8
    /// It is something else than a directory.
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

    /// Rows sit under the first 64 bits of the hash, or in one of the places behind.
    var firstRow: Int64 { Int64(bitPattern: UInt64(number) << 56) }

    var lastRow: Int64 {
        let last = Int64(bitPattern: UInt64(number) << 56 | 0xff_ffff_ffff_ffff)
        return last > .max - EntryKey.probes ? .max : last + EntryKey.probes
    }

    /// What is wrong at first sight, and the rows whose files have to be read.
    func compare(with rows: [ObjectRow]) -> (suspects: [Suspect], whole: [ObjectRow]) {
        var suspects: [Suspect] = []
        var whole: [ObjectRow] = []
        var strangers = names
        for row in rows where row.object.digest.prefix >> 56 == UInt64(number) {
            let name = row.object.name
            guard row.isInPlace else {
                suspects.append(Suspect(.brokenRow, name, row, "the object's row is where no lookup finds it"))
                continue
            }
            guard strangers.remove(String(name.dropFirst(3))) != nil, let file = FileIdentity(name, in: storage) else {
                suspects.append(Suspect(.missingFile, name, row, "the file is not there"))
                continue
            }
            if !file.isRegular {
                suspects.append(Suspect(.notAFile, name, row, seen: file, "it is \(file.description)"))
            } else if file.size != row.object.size {
                let sizes = "it has \(file.size) bytes instead of \(row.object.size)"
                suspects.append(Suspect(.wrongSize, name, row, seen: file, sizes))
            } else {
                whole.append(row)
            }
        }
        for name in strangers { suspects += Self.stranger("\(folder)/\(name)", storage).map { [$0] } ?? [] }
        if isPlanted { suspects += Self.stranger(folder, storage).map { [$0] } ?? [] }
        return (suspects, whole)
    }

    /// What lies beside the folders.
    static func strangers(_ storage: DiskStorage) -> [Suspect] {
        storage.session.directory.objects.namesBesideFolders().compactMap { stranger($0, storage) }
    }

    private static func stranger(_ name: String, _ storage: DiskStorage) -> Suspect? {
        guard let file = FileIdentity(name, in: storage) else { return nil }
        return file.isRegular
            ? Suspect(.orphan, name, nil, seen: file, "no entry knows this file (\(file.size) bytes)")
            : Suspect(.notAFile, name, nil, seen: file, "it is \(file.description)")
    }
}
